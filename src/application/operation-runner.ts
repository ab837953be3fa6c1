import { setTimeout } from 'node:timers/promises';
import { briefly } from '../core/operator/dead-letters/dead-letter.ts';
import { isActive } from '../core/operator/operations/operation.ts';
import { runOperation } from '../core/operator/operations/run-operation.ts';
import { runKept } from '../core/verify/run-kept.ts';
import type { DeleteLetters } from './chosen/actions.ts';
import { type ConsoleOptions, createConsole } from './console.ts';
import { type OperatorDeps, operatorDeps } from './deps.ts';
import { runDepsOf } from './replay.ts';
import { CONSOLE_ROUTES } from './routes.ts';
import { verificationOf } from './scans/verify.ts';

/** Milliseconds after which an operation of another process is looked at again: its claim may have ended. */
const BUSY_MS = 5_000;
const LOOKED_AT = 50;

/** Runs operations in the process of the server. */
function createOperationRunner(deps: OperatorDeps, onFault: (error: unknown, what: string) => void) {
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  // The end of the server ends the pause.
  const pause = (ms: number) => setTimeout(ms, undefined, { signal: stopping.signal }).catch(() => {});
  const onLeft = (error: unknown, channel: string) => onFault(error, `the dead letters of ${channel}, which stay`);
  const runDeps = { ...runDepsOf(deps, onLeft), pause };

  async function run(operation_id: string): Promise<void> {
    for (;;) {
      const result = await runOperation(operation_id, runDeps, isStopping).catch((error: unknown) => {
        onFault(error, `operation ${operation_id}`);
        // It has failed, or, where not even that could be stored, waits for another process.
        return 'busy' as const;
      });
      if (result !== 'busy' || isStopping()) return;
      await pause(BUSY_MS);
    }
  }

  const startRun = async (operation_id: string) => {
    // One that ends at this moment may not have seen what changed.
    const before = running.get(operation_id) ?? Promise.resolve();
    const next = before.then(() => run(operation_id));
    running.set(operation_id, next);
    next.finally(() => running.get(operation_id) === next && running.delete(operation_id));
  };

  let walking = Promise.resolve();
  const deleteLetters: DeleteLetters = async (taken, after_seconds) => {
    const walk = async () => {
      if (!isStopping()) await runDeps.dropReplaced(taken, briefly(deps.clock, isStopping));
    };
    pause(after_seconds * 1_000).then(() => {
      // One after the other: what one walk looks at is hidden from the other.
      walking = walking.then(walk);
    });
  };

  let verifying = Promise.resolve();
  const verify = async () => {
    const ports = verificationOf(deps);
    const ends = { isEnding: isStopping, isOver: isStopping };
    const run = { store: deps.verification, clock: deps.clock, claim_id: deps.newId(), pause, ports, ...ends };
    await runKept(run).catch((error: unknown) => onFault(error, 'verification'));
  };
  const startVerification = async () => {
    verifying = verifying.then(verify);
  };

  return {
    /** Runs the operation in this process, unless it already does. */
    startRun,
    deleteLetters,
    /** Works on the stage's verification in this process. */
    startVerification,
    /** Goes on with what a process that crashed left. */
    async resume() {
      await startVerification();
      let before: string | undefined;
      do {
        const found = await deps.operations.list({ limit: LOOKED_AT, ...(before !== undefined && { before }) });
        for (const operation of found.filter(isActive)) await startRun(operation.operation_id);
        before = found.length < LOOKED_AT ? undefined : found.at(-1)?.operation_id;
      } while (before !== undefined);
    },
    /** Lets the pages in work end. */
    async stop() {
      stopping.abort();
      await Promise.all([verifying, walking, ...running.values()]);
    },
  };
}

/** The routes with a runner of their operations in this process: for loopback, where no function runs them. */
export function createOwnConsole(options: ConsoleOptions) {
  const runner = createOperationRunner(operatorDeps(options), options.onFault);
  return { dispatch: createConsole(options, runner, CONSOLE_ROUTES), resume: runner.resume, stop: runner.stop };
}
