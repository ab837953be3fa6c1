import type { InvocationResult } from './sandbox.ts';

/** Calls a function with an event as JSON; never rejects. */
export type Invoke = (event: string) => Promise<InvocationResult>;

/** Takes a line for the runtime's own log; never the content of an event. */
export type Log = (line: string) => void;

/** A pause that a stop cuts short. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done);
  });
}
