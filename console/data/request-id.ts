import type { ProblemBody } from '../../src/operator-service/contract/fields.ts';

/** One per decision of a person. `crypto.randomUUID` exists on https and loopback only, where the console runs. */
export function newRequestId(): string {
  return crypto.randomUUID();
}

/** What answers an id that stands for another body. */
const REUSED = 'urn:notification-retry:problem:idempotency-key-reused';

/**
 * The id for the next attempt of a form that failed. A refused body decided nothing, so the next one is another decision;
 * where an attempt may have taken effect or still runs, the same id keeps it from acting twice.
 */
export function nextRequestId(request_id: string, { status, type }: ProblemBody): string {
  const isRefused = status >= 400 && status < 500 && (status !== 409 || type === REUSED);
  return isRefused ? newRequestId() : request_id;
}
