import { useRef, useState } from 'preact/hooks';
import type { ProblemBody } from '../../src/application/contract/fields.ts';
import { problemOf } from './api.ts';

/** One per decision of a person. `crypto.randomUUID` exists on https and loopback only, where the console runs. */
export const newRequestId = (): string => crypto.randomUUID();

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

/** A decision of a person that is made once, however often the button is clicked or the request repeated. */
export function useDecision<A extends readonly unknown[]>(act: (request_id: string, ...about: A) => Promise<void>) {
  const request_id = useRef(newRequestId());
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ProblemBody>();
  const decide = async (...about: A) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await act(request_id.current, ...about);
    } catch (error) {
      const failed = problemOf(error);
      request_id.current = nextRequestId(request_id.current, failed);
      setProblem(failed);
    }
    setBusy(false);
  };
  /** What is decided about has changed: that is another decision. */
  const renew = () => {
    request_id.current = newRequestId();
  };
  return { busy, problem, decide, renew };
}
