interface SelectProps<T extends string> {
  readonly label: string;
  readonly value: T | undefined;
  readonly options: readonly T[];
  /** The word for "no condition". */
  readonly all: string;
  readonly nameOf?: (option: T) => string;
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
