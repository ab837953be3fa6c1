import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly value?: string | undefined;
  readonly hint?: string;
  readonly type?: 'text' | 'number' | 'datetime-local';
  /** More than one: a text of several lines. */
  readonly lines?: number;
  /** What can be chosen, where nothing else may be written. */
  readonly options?: readonly string[];
  readonly required?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | 'any';
  readonly onInput?: (value: string) => void;
}

/** A field of a form with its label above and its hint below. */
export function Field({
  label,
  name,
  value,
  hint,
  type = 'text',
  lines = 1,
  options,
  required = false,
  onInput,
  ...numbers
}: FieldProps) {
  const id = useId();
  const texts = {
    id,
    name,
    required,
    defaultValue: value ?? '',
    spellcheck: false,
    autocomplete: 'off',
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
  };
  const told = ({ currentTarget }: { currentTarget: HTMLInputElement }) => onInput?.(currentTarget.value);
  const typed = { ...texts, ...(onInput && { onInput: told }) };
  return (
    <div class="field rows tight">
      <label for={id}>{label}</label>
      {options !== undefined ? (
        <select id={id} name={name}>
          {options.map((option) => (
            <option key={option} value={option} selected={option === value}>
              {option}
            </option>
          ))}
        </select>
      ) : lines > 1 ? (
        <textarea {...texts} rows={lines} />
      ) : type === 'number' ? (
        <input type="number" {...typed} {...numbers} />
      ) : type === 'text' ? (
        <input type="text" {...typed} />
      ) : (
        <input type="datetime-local" {...typed} />
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="faint">
          {hint}
        </p>
      )}
    </div>
  );
}
