/**
 * Base of our errors: the message names what is wrong, where, and what would be right, so a command prints it as it is.
 * Any other error is a defect, or comes from a library.
 */
export abstract class ExplainedError extends Error {
  /** Of a command that ends with it: 1 it could not be carried out, 2 an argument or a setting is wrong. */
  readonly exitCode: number = 1;
}

/** A refusal as an RFC 9457 problem. Its type never changes: clients decide by `type`, people read `detail`. */
export const PROBLEMS = {
  'invalid-request': { status: 400, title: 'The request breaks rules of the API' },
  'idempotency-key-missing': { status: 400, title: 'Idempotency-Key is missing or malformed' },
  unauthenticated: { status: 401, title: 'The API key is not valid' },
  forbidden: { status: 403, title: 'The API key may not do this' },
  'not-found': { status: 404, title: 'Not found' },
  'no-such-path': { status: 404, title: 'The API has no such path or method' },
  conflict: { status: 409, title: 'The present state does not allow this' },
  'idempotency-key-reused': { status: 409, title: 'Idempotency-Key was used for another request' },
  'request-in-progress': { status: 409, title: 'The same request is in progress' },
  'too-large': { status: 413, title: 'The request is too large' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  unavailable: { status: 503, title: 'The service is temporarily unavailable' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly title: string }>>;

export type ProblemName = keyof typeof PROBLEMS;

/** A broken rule, named by its place in the request. It never quotes what was sent. */
export interface FieldFault {
  /** Dot path into the body, or the name of a parameter. Empty for the whole request. */
  readonly path: string;
  readonly rule: string;
  /** What would be right. */
  readonly message: string;
}

export interface ProblemExtras {
  readonly errors?: readonly FieldFault[];
  /** Whole seconds, for Retry-After. */
  readonly retry_after_seconds?: number;
}

/** A use case throws it to refuse a request. The API function turns it into the answer. */
export class Problem extends ExplainedError {
  override readonly name = 'Problem';
  readonly problem: ProblemName;
  readonly extras: ProblemExtras;

  constructor(problem: ProblemName, detail: string, extras: ProblemExtras = {}) {
    super(detail);
    this.problem = problem;
    this.extras = extras;
  }
}

/** The problem of a request that failed on our side. */
export function unavailable(
  detail = 'Storage did not answer. Send the same request again with the same key.',
): Problem {
  return new Problem('unavailable', detail, { retry_after_seconds: 2 });
}

export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly FieldFault[];
}

export function problemDocument({ problem, message, extras }: Problem): ProblemDocument {
  return {
    type: problemType(problem),
    ...PROBLEMS[problem],
    detail: message,
    ...(extras.errors && { errors: extras.errors }),
  };
}

export const problemType = (name: ProblemName): string => `urn:notification-retry:problem:${name}`;
