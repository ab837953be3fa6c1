import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryOperationRows } from '../../../../src/adapters/memory/console/memory-operation-rows.ts';
import { createMemoryOperations } from '../../../../src/adapters/memory/console/memory-operations.ts';
import { MemoryTables } from '../../../../src/adapters/memory/memory-tables.ts';
import type { QueuedMessage } from '../../../../src/core/model/lanes.ts';
import type { NotificationRow } from '../../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';
import { createOperation, operate } from '../../../../src/core/operator/operations/operate.ts';
import type { Kind } from '../../../../src/core/operator/operations/operation.ts';
import { CLAIM_MS, runOperation } from '../../../../src/core/operator/operations/run-operation.ts';
import { deadRow, storedRow } from '../../../support/cli/operations.ts';

class Killed extends Error {}

/** Tables in memory on which a process can be killed before or after any of its writes. */
function world() {
  let time = Date.now();
  let serial = 0;
  let writesLeft = Number.POSITIVE_INFINITY;
  const clock = () => new Date(time);
  const tables = new MemoryTables(clock);
  const operations = createMemoryOperations();
  const sent: string[] = [];
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
    kick: async () => {},
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
    send: (messages: readonly QueuedMessage[]) =>
      write(async () => {
        sent.push(...messages.map(({ message }) => message.log_id));
        return [];
      }),
  };
  return {
    deps,
    tables,
    sent,
    changed,
    put(row: NotificationRow) {
      tables.log.set(row.log_id, { ...row });
    },
    /** Runs the operation; a killed process is followed by another one after its claim. */
    async run(operation_id: string, kills: readonly number[]) {
      for (const after of [...kills, Number.POSITIVE_INFINITY]) {
        writesLeft = after;
        try {
          await runOperation(operation_id, deps, () => false);
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
        }
        writesLeft = Number.POSITIVE_INFINITY;
        time += CLAIM_MS + 1;
      }
    },
  };
}

const KINDS = ['redrive', 'retry', 'cancel', 'give_up'] as const satisfies readonly Kind[];
const rowFor = (kind: Kind, log_id: string) =>
  kind === 'redrive' || kind === 'give_up'
    ? deadRow(log_id)
    : storedRow(log_id, { work_at: new Date(Date.now() + 3_600_000).toISOString() });
const request = (kind: Kind, more = {}) => ({
  kind,
  filter: {},
  asked: {},
  rate: 20,
  include_stopped: false,
  created_by: 'mori',
  ...more,
});

describe('an operation whose process is killed', () => {
  it.each(KINDS)('neither repeats nor skips, and counts each notification once: %s', async (kind) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 150 }),
        fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 4 }),
        async (count, kills) => {
          const at = world();
          for (let i = 0; i < count; i++) at.put(rowFor(kind, `N${i}`));
          const { operation_id } = await createOperation(request(kind), at.deps);
          await at.run(operation_id, []);
          await operate(operation_id, 'start', at.deps);
          await at.run(operation_id, kills);
          const done = await at.deps.operations.read(operation_id);
          expect(done).toMatchObject({ status: 'done', preview: { taken: count } });
          expect(done?.progress).toMatchObject({ matched: count, taken: count });
          expect([...at.changed].sort()).toEqual(Array.from({ length: count }, (_, i) => `N${i}`).sort());
          const isSent = kind === 'redrive' || kind === 'retry';
          expect(new Set(at.sent).size).toBe(isSent ? count : 0);
        },
      ),
      { numRuns: Number(process.env['FAULT_RUNS'] ?? 100) / 2 },
    );
  });

  it('is left alone by others as long as it lives', async () => {
    const at = world();
    at.put(deadRow('N1'));
    const { operation_id } = await createOperation(request('redrive'), at.deps);
    const found = await at.deps.operations.read(operation_id);
    if (found === undefined) throw new Error('it was not made');
    const claim_until = new Date(at.deps.clock().getTime() + 1_000).toISOString();
    await at.deps.operations.change(found, { set: { claim_id: 'other', claim_until } });
    expect(await runOperation(operation_id, at.deps, () => false)).toBe('busy');
  });
});

describe('an operation', () => {
  it('keeps its rate', async () => {
    const at = world();
    for (let i = 0; i < 100; i++) at.put(deadRow(`N${i}`));
    const { operation_id } = await createOperation(request('redrive', { rate: 10 }), at.deps);
    await at.run(operation_id, []);
    await operate(operation_id, 'start', at.deps);
    const begun = at.deps.clock().getTime();
    await runOperation(operation_id, at.deps, () => false);
    expect(at.deps.clock().getTime() - begun).toBeGreaterThanOrEqual(9_900);
  });

  it('does not take what others finished meanwhile', async () => {
    const at = world();
    for (const log_id of ['N1', 'N2']) at.put(deadRow(log_id));
    const { operation_id } = await createOperation(request('redrive'), at.deps);
    await at.run(operation_id, []);
    at.put({ ...deadRow('N1'), send_status: 'SUCCESS' });
    await operate(operation_id, 'start', at.deps);
    await at.run(operation_id, []);
    expect(at.sent).toEqual(['N2']);
  });

  it('ends at a pause asked for while a page is in work, and goes on afterwards', async () => {
    const at = world();
    for (let i = 0; i < 90; i++) at.put(deadRow(`N${i}`));
    const { operation_id } = await createOperation(request('redrive', { rate: 10 }), at.deps);
    await at.run(operation_id, []);
    await operate(operation_id, 'start', at.deps);
    let asked = false;
    const pausing = {
      ...at.deps,
      pause: async (ms: number) => {
        await at.deps.pause(ms);
        if (!asked) await operate(operation_id, 'pause', at.deps);
        asked = true;
      },
    };
    await runOperation(operation_id, pausing, () => false);
    expect(await at.deps.operations.read(operation_id)).toMatchObject({ status: 'paused', progress: { taken: 10 } });
    await operate(operation_id, 'resume', at.deps);
    await at.run(operation_id, []);
    expect(await at.deps.operations.read(operation_id)).toMatchObject({ status: 'done', progress: { taken: 90 } });
  });
});
