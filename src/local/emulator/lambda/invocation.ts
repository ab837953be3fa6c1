/** What the runtime and a function's process send to each other. Events and results are JSON texts, as on Lambda. */

export interface Invocation {
  readonly id: string;
  readonly event: string;
  /** Epoch milliseconds at which the process is killed. */
  readonly deadline: number;
}

/** A result, and the CPU that the process had used before and after it, in microseconds: user and system, all threads. */
export interface Outcome {
  readonly result: InvocationResult;
  readonly cpu_us: readonly [before: number, after: number];
}

/** As in the payload of a failed invocation on Lambda. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

export type InvocationResult =
  | { readonly ok: true; readonly result: string }
  | { readonly ok: false; readonly error: FunctionError };

/** Calls one function with an event as JSON; never rejects. */
export type Invoke = (event: string) => Promise<InvocationResult>;

/** Calls a function of the stack by its name; undefined when there is no such function. */
export type InvokeByName = (functionName: string, event: string) => Promise<InvocationResult> | undefined;
