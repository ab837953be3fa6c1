/** The text, shortened to at most `length` characters; an ellipsis marks the cut. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const ADDRESS_LIKE = /[^\s"'<>(),;:]+@[^\s"'<>(),;:]+|https?:\/\/[^\s"'<>]+/gi;

/** A text of another system, in which addresses are masked. JSON stays JSON. */
export function withoutAddresses(text: string): string {
  return text.replace(ADDRESS_LIKE, '…');
}
