/** The text, shortened to so many characters with an ellipsis where it was longer. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
