const HALF_AT_END = /[\ud800-\udbff]$/;

/**
 * At most the first `length` UTF-16 units of a text, without half of a surrogate pair at the cut: DynamoDB refuses such
 * a text, and with it the whole batch of writes.
 */
export function beginning(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(HALF_AT_END, '');
}

/** The text, shortened to at most `length` UTF-16 units; an ellipsis marks the cut. No half of a surrogate pair is left. */
export function clip(text: string, length: number): string {
  return (text.length <= length ? text : `${beginning(text, length - 1)}…`).toWellFormed();
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
