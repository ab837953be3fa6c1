import { setTimeout } from 'node:timers/promises';
import { EXIT_CODES } from '../../terminal/interruption.ts';
import { showError, showStep } from './output.ts';
import { type LocalRuntime, type LocalRuntimeOptions, startLocalRuntime } from './runtime.ts';

/**
 * Longest wait after a signal for a step that cannot be stopped, such as a download. It then ends with this process.
 */
const GRACE_MS = 10_000;
/** A runtime that was asked to end has done its work. */
export const STOP_CODES = { ...EXIT_CODES, SIGTERM: 0 };
/** Ctrl-C also reaches child processes. Their end may be noticed this long before the signal. */
const SIGNAL_DELAY_MS = 100;

/**
 * Starts a runtime. When a signal comes first, the start is undone, and errors that the signal causes are not shown.
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
    await Promise.race([stopped, setTimeout(SIGNAL_DELAY_MS)]);
    if (exitCode === undefined) throw error;
    // An AggregateError names what could not be stopped, so it is shown all the same.
    if (error instanceof AggregateError) showError(error);
  }
  showStep('stopped');
  return exitCode ?? 1;
}
