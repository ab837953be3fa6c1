import { CONDITIONS } from '../../src/application/contract/choices.ts';
import { said, t } from '../language/language.ts';
import { channelName } from './words.ts';

interface SelectProps<T extends string> {
  readonly label: string;
  readonly value: T | undefined;
  readonly options: readonly T[];
  /** The word for "no condition". */
  readonly all: string;
  readonly nameOf?: ((option: T) => string) | undefined;
  readonly onChange: (value: T | undefined) => void;
}

/** A filter: the browser's own list, so that it works with every keyboard, screen reader and phone. */
export function Select<T extends string>({ label, value, options, all, nameOf, onChange }: SelectProps<T>) {
  return (
    <label class={`filter${value === undefined ? '' : ' is-set'}`}>
      <span class="visually-hidden">{label}</span>
      <select
        value={value ?? ''}
        onChange={({ currentTarget }) => onChange(options.find((option) => option === currentTarget.value))}
      >
        <option value="">{all}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {nameOf?.(option) ?? option}
          </option>
        ))}
      </select>
    </label>
  );
}

const ALL = ['channel', 'priority', 'error_type'] as const;
type Chosen = (typeof ALL)[number];
type Conditions = { readonly [K in Chosen]?: (typeof CONDITIONS)[K]['values'][number] | undefined };

const NAMES: { readonly [K in Chosen]?: (option: string) => string } = { channel: channelName };

interface ConditionSelectsProps {
  readonly of?: readonly Chosen[];
  readonly values: Conditions;
  readonly onChange: (change: Conditions) => void;
}

/** The conditions that lists, groups and operations share. */
export function ConditionSelects({ of = ALL, values, onChange }: ConditionSelectsProps) {
  return of.map((name) => {
    const { label, values: options } = CONDITIONS[name];
    return (
      <Select
        key={name}
        label={said(label)}
        value={values[name]}
        all={t('Any {what}', { what: said(label).toLowerCase() })}
        onChange={(value) => onChange({ [name]: value })}
        options={options as readonly string[]}
        nameOf={NAMES[name]}
      />
    );
  });
}
