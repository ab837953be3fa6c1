import { createOperationRows } from '../../../adapters/dynamodb/console/operation-rows.ts';
import { createOperationStore } from '../../../adapters/dynamodb/console/operation-store.ts';
import { createShardMark } from '../../../adapters/dynamodb/indexing/shard-mark.ts';
import { type OperateDeps, operate } from '../../../core/operator/operations/operate.ts';
import type { Operation, OperationStore } from '../../../core/operator/operations/operation.ts';
import { type RunDeps, runOperation } from '../../../core/operator/operations/run-operation.ts';
import { isActive } from '../../../core/operator/operations/transitions.ts';
import { showProgress } from '../../../terminal/progress.ts';
import type { Session } from '../../session/session.ts';

/** Milliseconds after which an operation that another process works on is looked at again. */
const BUSY_MS = 1_000;

/** An operation that this process works on. */
export interface ReplayRun extends OperateDeps {
  /** Starts or resumes it, if it needs that. */
  begin(operation: Operation): Promise<Operation>;
  /**
   * Works on it until it needs nobody: its preview is made, it has ended, or somebody paused it. While another process
   * works on it, this one looks on, and goes on if that one dies.
   */
  follow(operation: Operation, verb: string): Promise<Operation>;
  /** Notifications that this process took. */
  sent(): number;
}

export function replayRun(session: Session, stored?: OperationStore): ReplayRun {
  const { dynamodb, deployment, rows, lanes, clock, newId, pause } = session;
  const { notification_log, pipeline_state } = deployment.tables;
  const operations = stored ?? createOperationStore(dynamodb, pipeline_state);
  let sent = 0;
  const deps: RunDeps = {
    operations,
    // Reads consistently, so that no decision depends on an outdated row.
    candidates: createOperationRows(dynamodb, notification_log, clock, createShardMark(dynamodb, pipeline_state).read),
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
  const operating: OperateDeps = { operations, clock, newId, kick: async () => {} };
  const current = async (operation: Operation) => (await operations.read(operation.operation_id)) ?? operation;
  return {
    ...operating,
    sent: () => sent,

    async begin(operation) {
      const { operation_id, status } = operation;
      if (status === 'ready') return operate(operation_id, 'start', operating);
      return status === 'paused' || status === 'failed' ? operate(operation_id, 'resume', operating) : operation;
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
        while (isActive(operation)) {
          const result = await runOperation(given.operation_id, { ...deps, operations: shown }, () => false);
          operation = await current(operation);
          show(operation);
          if (result === 'busy') await pause(BUSY_MS);
        }
        return operation;
      } finally {
        progress.end();
      }
    },
  };
}
