import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly value?: string | undefined;
  readonly hint?: string;
  readonly type?: 'text' | 'number';
  readonly required?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | 'any';
  readonly onInput?: (value: string) => void;
}

/** A field of a form with its label above and its hint below. */
export function Field({ label, name, value, hint, type = 'text', onInput, ...rules }: FieldProps) {
  const id = useId();
  const shared = {
    id,
    name,
    defaultValue: value ?? '',
    spellcheck: false,
    autocomplete: 'off',
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
    ...(onInput && {
      onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => onInput(currentTarget.value),
    }),
    ...rules,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === 'number' ? <input type="number" {...shared} /> : <input type="text" {...shared} />}
      {hint !== undefined && (
        <p id={`${id}-hint`} class="faint">
          {hint}
        </p>
      )}
    </div>
  );
}
