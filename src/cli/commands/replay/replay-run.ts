import { createOperationRows } from '../../../adapters/dynamodb/console/operation-rows.ts';
import {
  auditDetails,
  createOperation,
  type NewOperation,
  newOperationId,
  type OperateDeps,
  type OperationAct,
  operate,
  possibleActs,
} from '../../../core/operator/operations/operate.ts';
import {
  cancelled,
  isActive,
  isOver,
  type Operation,
  type OperationStore,
} from '../../../core/operator/operations/operation.ts';
import { type RunDeps, runOperation } from '../../../core/operator/operations/run-operation.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import { showProgress } from '../../../terminal/progress.ts';
import type { Session } from '../../session/session.ts';

/** Milliseconds after which an operation that another process works on is looked at again. */
const BUSY_MS = 1_000;

/** An operation that this process works on. What is done to it is in the audit log, as what the console does. */
export interface ReplayRun {
  readonly operations: OperationStore;
  create(request: NewOperation): Promise<Operation>;
  /** Starts or resumes it as it is now, at this rate if one is given, if it needs that. */
  begin(operation_id: string, rate?: number): Promise<Operation>;
  /** Ends it if nobody has started it. */
  abandon(operation_id: string): Promise<void>;
  /**
   * Works on it until its state is another one: its preview is made, it has ended, or somebody paused it. While another
   * process works on it, this one looks on, and goes on if that one dies.
   */
  follow(operation: Operation, verb: string): Promise<Operation>;
  /** Notifications that this process took. */
  sent(): number;
  /** The exit code of a command that the operator has ended. */
  interrupted(): number | undefined;
}

/** @param unstored where an operation is that only counts, and is not audited */
export function replayRun(session: Session, unstored?: OperationStore): ReplayRun {
  const { dynamodb, deployment, rows, lanes, clock, newId, pause, shards, decide } = session;
  const operations = unstored ?? session.operations;
  const { signal, exitCode } = session.interruption();
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
    if (found === undefined) throw new OperatorError(`${operation_id} is not stored any more.`);
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
    operations,
    sent: () => sent,
    interrupted: exitCode,

    create(request) {
      const operation = { ...request, operation_id: request.operation_id ?? newOperationId(operating) };
      return audited('create', operation, () => createOperation(operation, operating));
    },

    async begin(operation_id, rate) {
      const found = await current(operation_id);
      const act = possibleActs(found).find((one) => one === 'start' || one === 'resume');
      const rated = { ...found, rate: rate ?? found.rate };
      // What a process that died left running is gone on with: that is no act.
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

    async follow(given, verb) {
      const progress = showProgress(session);
      const show = ({ status, progress: taken, preview }: Operation) => {
        const done = status === 'previewing' ? preview?.matched : taken.taken;
        progress.update({ verb, done: done ?? 0, total: status === 'previewing' ? undefined : preview?.taken });
      };
      const shown: OperationStore = {
        ...operations,
        async change(was, change) {
          const changed = await operations.change(was, change);
          if (changed !== undefined) show(changed);
          return changed;
        },
      };
      try {
        let operation = given;
        while (isActive(operation) && operation.status === given.status && !signal.aborted) {
          const result = await runOperation(given.operation_id, { ...deps, operations: shown }, () => signal.aborted);
          operation = await current(operation.operation_id);
          show(operation);
          if (result === 'busy' && !signal.aborted) await pause(BUSY_MS);
        }
        return operation;
      } finally {
        progress.end();
      }
    },
  };
}
