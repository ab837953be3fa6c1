import { setTimeout } from 'node:timers/promises';
import { createOperationRows } from '../adapters/dynamodb/console/operation-rows.ts';
import { Problem } from '../core/model/problem.ts';
import {
  auditDetails,
  createOperation,
  type NewOperation,
  newOperationId,
  type OperateDeps,
  type OperationAct,
  operate,
  possibleActs,
} from '../core/operator/operations/operate.ts';
import {
  cancelled,
  isActive,
  isOver,
  type Operation,
  type OperationStore,
} from '../core/operator/operations/operation.ts';
import { type RunDeps, runOperation } from '../core/operator/operations/run-operation.ts';
import { runKept } from '../core/verify/kept-verification.ts';
import type { Decide } from './audit.ts';
import { type ConsoleOptions, createConsole } from './console.ts';
import { type OperatorDeps, operatorDeps } from './deps.ts';
import { CONSOLE_ROUTES } from './routes.ts';
import { verificationOf } from './scans/verify.ts';

interface OperationRunner {
  /** Works on the stage's verification in this process. */
  startVerification(): Promise<void>;
  /** Runs the operation in this process, unless it already does. */
  startRun(operation_id: string): Promise<void>;
  /** Goes on with what a process that crashed left. */
  resume(): Promise<void>;
  /** Lets the pages in work end. */
  stop(): Promise<void>;
}

/** Milliseconds after which an operation of another process is looked at again: its claim may have ended. */
const BUSY_MS = 5_000;
const LOOKED_AT = 50;

/** Runs operations in the process of the server. */
function createOperationRunner(deps: OperatorDeps, onFault: (error: unknown, what: string) => void): OperationRunner {
  const running = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  // The end of the server ends the pause.
  const pause = (ms: number) => setTimeout(ms, undefined, { signal: stopping.signal }).catch(() => {});
  const runDeps = {
    ...deps,
    send: deps.lanes.send,
    policy: deps.deployment.retry_policy,
    candidates: createOperationRows(deps.dynamodb, deps.deployment.tables.notification_log, deps.clock, deps.shards),
    pause,
  };

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
    startRun,
    startVerification,
    async resume() {
      await startVerification();
      let before: string | undefined;
      do {
        const found = await deps.operations.list({ limit: LOOKED_AT, ...(before !== undefined && { before }) });
        for (const operation of found.filter(isActive)) await startRun(operation.operation_id);
        before = found.length < LOOKED_AT ? undefined : found.at(-1)?.operation_id;
      } while (before !== undefined);
    },
    async stop() {
      stopping.abort();
      await Promise.all([verifying, ...running.values()]);
    },
  };
}

/** The routes with a runner of their operations in this process: for loopback, where no function runs them. */
export function createOwnConsole(options: ConsoleOptions) {
  const runner = createOperationRunner(operatorDeps(options), options.onFault);
  return {
    dispatch: createConsole(options, runner, CONSOLE_ROUTES),
    resume: runner.resume,
    stop: runner.stop,
  };
}

/** Milliseconds after which a command looks again at what another process works on. */
const LOOK_AGAIN_MS = 1_000;

/** An operation that this process works on. What is done to it is in the audit log, as what the console does. */
export interface OwnRun {
  create(request: NewOperation): Promise<Operation>;
  /** Starts or resumes it as it is now, at this rate if one is given, if it needs that. */
  begin(operation_id: string, rate?: number): Promise<Operation>;
  /** Ends it if nobody has started it. */
  abandon(operation_id: string): Promise<void>;
  /**
   * Works on it until its state is another one: its preview is made, it has ended, or somebody paused it. While another
   * process works on it, this one looks on, and goes on if that one dies.
   * @param show what it is after each change
   */
  follow(operation: Operation, show: (operation: Operation) => void): Promise<Operation>;
  /** Notifications that this process took. */
  sent(): number;
}

interface OwnRunDeps extends OperatorDeps {
  readonly decide: Decide;
  readonly pause: (ms: number) => Promise<void>;
}

/**
 * @param signal ends the work after the page in work
 * @param unstored where an operation is that only counts, and is not audited
 */
export function ownRun(given: OwnRunDeps, signal: AbortSignal, unstored?: OperationStore): OwnRun {
  const { dynamodb, deployment, rows, lanes, clock, newId, pause, shards, decide } = given;
  const operations = unstored ?? given.operations;
  let sent = 0;
  const deps: RunDeps = {
    operations,
    // Reads consistently, so that no decision depends on an outdated row.
    candidates: createOperationRows(dynamodb, deployment.tables.notification_log, clock, shards),
    rows: {
      read: rows.read,
      async change(row, change) {
        const applied = await rows.change(row, change);
        if (applied) sent += 1;
        return applied;
      },
    },
    send: lanes.send,
    policy: deployment.retry_policy,
    clock,
    newId,
    pause,
  };
  // This process runs it.
  const operating: OperateDeps = { operations, clock, newId, startRun: async () => {} };
  const current = async (operation_id: string) => {
    const found = await operations.read(operation_id);
    if (found === undefined) throw new Problem('not-found', `${operation_id} is not stored any more.`);
    return found;
  };

  /** @param of the operation as the act makes it */
  async function audited<A>(
    act: 'create' | 'rate' | OperationAct,
    of: NewOperation & { readonly operation_id: string },
    run: () => Promise<A>,
  ): Promise<A> {
    if (unstored !== undefined) return run();
    const decision = { what: `operation.${act}`, on: [of.operation_id], details: auditDetails(of) };
    const result = act === 'create' ? { created: 1 } : { accepted: 1 };
    return (await decide(decision, async () => ({ answer: await run(), result }))).answer;
  }

  return {
    sent: () => sent,

    create(request) {
      const operation = { ...request, operation_id: request.operation_id ?? newOperationId(operating) };
      return audited('create', operation, () => createOperation(operation, operating));
    },

    async begin(operation_id, rate) {
      const found = await current(operation_id);
      const act = possibleActs(found).find((one) => one === 'start' || one === 'resume');
      const rated = { ...found, rate: rate ?? found.rate };
      // What a process that crashed left running is gone on with: that is no act.
      if (isOver(found) || (act === undefined && rated.rate === found.rate)) return found;
      return audited(act ?? 'rate', rated, async () => {
        if (rated.rate !== found.rate) await operations.change(found, { set: { rate: rated.rate } });
        return act === undefined ? current(operation_id) : operate(operation_id, act, operating);
      });
    },

    async abandon(operation_id) {
      const found = await current(operation_id);
      if (found.started_at !== undefined || isOver(found)) return;
      // Only as it was read: somebody may start it at this moment.
      await audited('cancel', found, () => operations.change(found, cancelled(found.progress, clock())));
    },

    async follow(given, show) {
      const shown: OperationStore = {
        ...operations,
        async change(was, change) {
          const changed = await operations.change(was, change);
          if (changed !== undefined) show(changed);
          return changed;
        },
      };
      let operation = given;
      while (isActive(operation) && operation.status === given.status && !signal.aborted) {
        const result = await runOperation(given.operation_id, { ...deps, operations: shown }, () => signal.aborted);
        operation = await current(operation.operation_id);
        show(operation);
        if (result === 'busy' && !signal.aborted) await pause(LOOK_AGAIN_MS);
      }
      return operation;
    },
  };
}
