import type { NotificationRow } from '../../src/core/model/notification.ts';
import type { QueuedMessage } from '../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import type { Kind, Operation } from '../../src/core/operator/operations/operation.ts';
import { OPERATION_CLAIM_MS, runOperation } from '../../src/core/operator/operations/run-operation.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { createMemoryOperationRows, createMemoryOperations } from '../../tools/simulation/twins/row-stores.ts';
import { deadRow, storedRow } from './cli/operations.ts';

class Killed extends Error {}

/** Tables in memory on which a process can be killed before or after any of its writes. */
export function operationsWorld() {
  let time = Date.now();
  let serial = 0;
  let writesLeft = Number.POSITIVE_INFINITY;
  const clock = () => new Date(time);
  const tables = new MemoryTables(clock);
  const operations = createMemoryOperations();
  const sent: string[] = [];
  /** With its run: no message may pass for a redrive of another one. */
  const sentAs: string[] = [];
  const options: QueuedMessage['message']['options'][] = [];
  const changed: string[] = [];
  const write = async <T>(act: () => Promise<T>): Promise<T> => {
    if (writesLeft-- <= 0) throw new Killed();
    const result = await act();
    if (writesLeft-- <= 0) throw new Killed();
    return result;
  };
  const deps = {
    clock,
    newId: () => `id${++serial}-abcdef`,
    policy: DEFAULT_RETRY_POLICY,
    startRun: async () => {},
    pause: async (ms: number) => {
      time += ms;
    },
    operations: {
      ...operations,
      change: (...given: Parameters<typeof operations.change>) => write(() => operations.change(...given)),
    },
    candidates: createMemoryOperationRows(tables),
    rows: {
      read: tables.rows.read,
      change: (row: NotificationRow, change: Parameters<typeof tables.rows.change>[1]) =>
        write(async () => {
          const applied = await tables.rows.change(row, change);
          if (applied) changed.push(row.log_id);
          return applied;
        }),
    },
    correct: (row: NotificationRow, ...more: [Parameters<typeof tables.rows.change>[1], object]) =>
      write(async () => {
        const applied = await tables.corrections.correct(row, ...more);
        if (applied) changed.push(row.log_id);
        return applied;
      }),
    send: (messages: readonly QueuedMessage[]) =>
      write(async () => {
        sent.push(...messages.map(({ message }) => message.log_id));
        options.push(...messages.map(({ message }) => message.options));
        sentAs.push(...messages.map(({ message }) => `${message.log_id} ${message.run_id}`));
        return [];
      }),
  };
  return {
    deps,
    tables,
    sent,
    sentAs,
    options,
    changed,
    put(row: NotificationRow) {
      tables.log.set(row.log_id, { ...row });
      tables.content.set(row.log_id, { recipient: '#a', body: 'x', format: 'PLAIN', tenant_id: row.tenant_id });
    },
    async stored(operation_id: string): Promise<Operation> {
      const found = await operations.read(operation_id);
      if (found === undefined) throw new Error('there is no such operation');
      return found;
    },
    pass(ms: number) {
      time += ms;
    },
    /** Runs the operation; a killed process is followed by another one after its claim, unless it is alone. */
    async run(operation_id: string, kills: readonly number[], { alone = false } = {}) {
      for (const after of alone ? kills : [...kills, Number.POSITIVE_INFINITY]) {
        writesLeft = after;
        try {
          await runOperation(operation_id, deps, () => false);
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
        }
        writesLeft = Number.POSITIVE_INFINITY;
        time += OPERATION_CLAIM_MS + 1;
      }
    },
  };
}

export const KINDS = ['redrive', 'retry', 'cancel', 'give_up', 'correct'] as const satisfies readonly Kind[];
export const rowFor = (kind: Kind, log_id: string) =>
  ['redrive', 'give_up', 'correct'].includes(kind)
    ? deadRow(log_id)
    : storedRow(log_id, { work_at: new Date(Date.now() + 3_600_000).toISOString() });
export const request = (kind: Kind, more = {}) => ({
  kind,
  filter: {},
  asked: {},
  rate: 20,
  include_stopped: false,
  created_by: 'mori',
  ...more,
});
