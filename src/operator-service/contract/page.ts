/** Every list is read page by page. A page may be empty and still have a next one: follow the cursor until null. */
export interface NextPage {
  readonly next_cursor: string | null;
}

/** A line for the shell that does the same as a button, or that shows more. */
export interface ShellCommand {
  readonly label: string;
  readonly command: string;
}

/** The body of every answer above 399: RFC 9457, and what to do about it. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly { readonly path: string; readonly rule: string; readonly message: string }[];
  /** What a person does about it. */
  readonly remedy: string;
  /** The line for the shell that does what was refused, or shows more. */
  readonly command?: string;
}
