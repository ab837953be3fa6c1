/** What is wrong with a line. It quotes nothing of the line, which is about a person. */
export interface LineFault {
  readonly line: number;
  /** Empty for the whole line. */
  readonly column: string;
  readonly rule: string;
  readonly message: string;
}

/** A line as it was read: the member's fields, or what is wrong. */
export type LineRecord = { readonly line: number; readonly fields: unknown } | LineFault;

export function faultOf(line: number, rule: string, message: string): LineFault {
  return { line, column: '', rule, message };
}
