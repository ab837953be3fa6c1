import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';

interface SearchFieldProps {
  readonly value: string | undefined;
  readonly onSearch: (text: string | undefined) => void;
}

/** Finds by an id, its beginning, or a recipient, when Enter is pressed or the field is left. */
export function SearchField({ value, onSearch }: SearchFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = value ?? '';
  }, [value]);
  const search = () => onSearch(input.current?.value.trim() || undefined);
  return (
    <label class="search">
      <Icon name="search" />
      <span class="visually-hidden">Search by log_id, notification_id or recipient</span>
      <input
        ref={input}
        type="search"
        placeholder="id, its beginning, recipient"
        defaultValue={value ?? ''}
        maxLength={500}
        spellcheck={false}
        autocomplete="off"
        onChange={search}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Escape') currentTarget.blur();
          if (key === 'Enter') search();
        }}
      />
      <span class="key-hint" aria-hidden="true">
        /
      </span>
    </label>
  );
}
