/** The text, shortened to at most `length` characters; an ellipsis marks the cut. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
