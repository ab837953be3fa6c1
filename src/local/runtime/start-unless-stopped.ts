import { setTimeout } from 'node:timers/promises';
import { showError, showStep } from './output.ts';
import { type LocalRuntime, type LocalRuntimeOptions, startLocalRuntime } from './runtime.ts';

/** A step that cannot be stopped, such as a download, is not waited for any longer: it ends with this process. */
const GRACE_MS = 10_000;
/** Ctrl-C reaches our children too: one that it ended may be noticed before the signal is. */
const NOTICE_MS = 100;

/**
 * Starts a runtime, unless a signal comes first: then what was begun is undone, and what fails because of that is not
 * shown.
 * @param stopped resolves with the exit code when a signal comes
 * @returns the runtime, or that exit code
 * @throws Error that names the component that did not start and what to do
 */
export async function startUnlessStopped(
  options: LocalRuntimeOptions,
  stopped: Promise<number>,
): Promise<LocalRuntime | number> {
  const stop = new AbortController();
  let exitCode: number | undefined;
  let starting = true;
  const graceOver = stopped.then((code) => {
    if (!starting) return undefined;
    exitCode = code;
    showStep('stopping');
    stop.abort();
    return setTimeout(GRACE_MS, undefined, { ref: false });
  });
  try {
    const runtime = await Promise.race([startLocalRuntime({ ...options, signal: stop.signal }), graceOver]);
    starting = false;
    if (exitCode === undefined && runtime !== undefined) return runtime;
    await runtime?.stop();
  } catch (error) {
    await Promise.race([stopped, setTimeout(NOTICE_MS)]);
    if (exitCode === undefined) throw error;
    // Not what did not start, but what could not be stopped.
    if (error instanceof AggregateError) showError(error);
  }
  showStep('stopped');
  return exitCode ?? 1;
}
