import { CHANNELS, type Channel, PRIORITIES, type Priority } from '../../src/core/model/channels.ts';
import { ERROR_TYPES, type ErrorType } from '../../src/core/model/error-types.ts';
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

type Conditions = {
  readonly channel?: Channel | undefined;
  readonly priority?: Priority | undefined;
  readonly error_type?: ErrorType | undefined;
};

interface Condition {
  readonly label: string;
  readonly options: readonly string[];
  readonly nameOf?: (option: string) => string;
}

const CONDITIONS: Readonly<Record<keyof Conditions, Condition>> = {
  channel: { label: 'Channel', options: CHANNELS, nameOf: channelName },
  priority: { label: 'Priority', options: PRIORITIES },
  error_type: { label: 'Error', options: ERROR_TYPES },
};
const ALL = Object.keys(CONDITIONS) as readonly (keyof Conditions)[];

interface ConditionSelectsProps {
  readonly of?: readonly (keyof Conditions)[];
  readonly values: Conditions;
  readonly onChange: (change: Conditions) => void;
}

/** The conditions that lists, groups and operations share. */
export function ConditionSelects({ of = ALL, values, onChange }: ConditionSelectsProps) {
  return of.map((name) => {
    const { label, ...rest } = CONDITIONS[name];
    return (
      <Select
        key={name}
        label={label}
        value={values[name]}
        all={`Any ${label.toLowerCase()}`}
        onChange={(value) => onChange({ [name]: value })}
        {...rest}
      />
    );
  });
}
