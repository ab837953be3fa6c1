/** The text, shortened to at most `length` characters; an ellipsis marks the cut. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const ADDRESS_LIKE = /[^\s"'<>(),;:]+@[^\s"'<>(),;:]+|https?:\/\/[^\s"'<>]+/gi;

/** A text of another system, in which addresses are masked. JSON stays JSON. */
export function withoutAddresses(text: string): string {
  return text.replace(ADDRESS_LIKE, '…');
}

/**
 * A value of a row that another program wrote, as a person or a page can show it: a map, list or set has no place there,
 * and may hold an address.
 */
export function shownText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return Object(value) === value ? '(neither text nor number)' : String(value);
}
