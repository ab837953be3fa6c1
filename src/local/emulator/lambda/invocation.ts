/** What the runtime and a function's process say to each other; events and results travel as JSON text, as on Lambda. */

export interface Invocation {
  readonly id: string;
  readonly event: string;
  /** Epoch milliseconds at which the process is killed. */
  readonly deadline: number;
}

export type Outcome =
  | { readonly id: string; readonly ok: true; readonly result: string }
  | { readonly id: string; readonly ok: false; readonly error: FunctionError };

/** As in the payload of a failed invocation on Lambda. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}
