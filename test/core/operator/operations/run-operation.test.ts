import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHANNELS } from '../../../../src/core/model/channels.ts';
import { messageFor } from '../../../../src/core/model/queue-message.ts';
import { isReplaced, type Taken } from '../../../../src/core/operator/dead-letters/dead-letter.ts';
import { createOperation, operate, possibleActs } from '../../../../src/core/operator/operations/operate.ts';
import type { Kind } from '../../../../src/core/operator/operations/operation.ts';
import { OPERATION_CLAIM_MS, runOperation } from '../../../../src/core/operator/operations/run-operation.ts';
import { deadRow, stoppedRow } from '../../../support/cli/operations.ts';
import { KINDS, operationsWorld, request, rowFor } from '../../../support/operations-world.ts';
import { dueRow } from '../../../support/rows.ts';

describe('an operation whose process is killed', () => {
  it.each(KINDS)('neither repeats nor skips, and counts each notification once: %s', async (kind) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 150 }),
        fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 4 }),
        async (count, kills) => {
          const at = operationsWorld();
          for (let i = 0; i < count; i++) at.put(rowFor(kind, `N${i}`));
          const { operation_id } = await createOperation(request(kind), at.deps);
          await at.run(operation_id, []);
          await operate(operation_id, 'start', at.deps);
          await at.run(operation_id, kills);
          const done = await at.deps.operations.read(operation_id);
          expect(done).toMatchObject({ status: 'done', preview: { taken: count } });
          expect(done?.progress).toMatchObject({ matched: count, taken: count });
          expect([...at.changed].sort()).toEqual(Array.from({ length: count }, (_, i) => `N${i}`).sort());
          const isSent = ['redrive', 'retry', 'correct'].includes(kind);
          expect(new Set(at.sent).size).toBe(isSent ? count : 0);
          expect(new Set(at.sentAs).size).toBe(at.sentAs.length);
          // Repeated or not: nobody asks for each by name, so none passes a breaker, a rate or a quota.
          expect(at.options.every((options) => options === undefined)).toBe(true);
        },
      ),
      { numRuns: Number(process.env['FAULT_RUNS'] ?? 100) / 2 },
    );
  });

  it('is left alone by others as long as it lives', async () => {
    const at = operationsWorld();
    at.put(deadRow('N1'));
    const { operation_id } = await createOperation(request('redrive'), at.deps);
    const found = await at.deps.operations.read(operation_id);
    if (found === undefined) throw new Error('it was not made');
    const claim_until = new Date(at.deps.clock().getTime() + 1_000).toISOString();
    await at.deps.operations.change(found, { set: { claim_id: 'other', claim_until } });
    expect(await runOperation(operation_id, at.deps, () => false)).toBe('busy');
  });
});

it('that cancels leaves what an event has shown to have arrived: its next message settles that', async () => {
  const at = operationsWorld();
  at.put({ ...rowFor('cancel', 'N1'), delivery_by_attempt: { 0: 'delivered' } });
  at.put(rowFor('cancel', 'N2'));
  const { operation_id } = await createOperation(request('cancel'), at.deps);
  await at.run(operation_id, []);
  await operate(operation_id, 'start', at.deps);
  await at.run(operation_id, []);
  expect(at.changed).toEqual(['N2']);
  expect((await at.deps.operations.read(operation_id))?.progress).toMatchObject({
    taken: 1,
    excluded: { delivered: 1 },
  });
});

it.each(['retry', 'redrive'] as const)('that is resumed repeats no message of what was attempted: %s', async (kind) => {
  const at = operationsWorld();
  at.put(rowFor(kind, 'N1'));
  const { operation_id } = await createOperation(request(kind), at.deps);
  await at.run(operation_id, []);
  await operate(operation_id, 'start', at.deps);
  // After the claim and the page, each before and after its write, the row's, and the message.
  await at.run(operation_id, [4 + 2 + 1], { alone: true });
  expect(at.sent).toEqual(['N1']);
  const now = at.deps.clock();
  const next_retry_at = new Date(now.getTime() + 60_000).toISOString();
  const settled = { last_attempt: 1, work_at: next_retry_at, next_retry_at, updated_at: now.toISOString() };
  at.tables.log.set('N1', { ...at.tables.log.get('N1'), ...settled });
  at.pass(120_000);
  await at.run(operation_id, []);
  expect(at.sent).toEqual(['N1']);
  expect((await at.stored(operation_id)).progress).toMatchObject({ taken: 1 });
});

describe('an operation whose page fails', () => {
  const failing = async (kind: Kind, count: number) => {
    const at = operationsWorld();
    for (let i = 0; i < count; i++) at.put(rowFor(kind, `N${i}`));
    const { operation_id } = await createOperation(request(kind, { rate: 20 }), at.deps);
    await at.run(operation_id, []);
    await operate(operation_id, 'start', at.deps);
    return { at, operation_id, stored: async () => (await at.deps.operations.read(operation_id)) ?? fail() };
  };
  const fail = (): never => {
    throw new Error('it is gone');
  };

  it('is failed by the process that has the claim, which the error reaches', async () => {
    const { at, operation_id, stored } = await failing('redrive', 3);
    const deps = { ...at.deps, send: async () => fail() };
    await expect(runOperation(operation_id, deps, () => false)).rejects.toThrow('it is gone');
    expect(await stored()).toMatchObject({ status: 'failed', error: expect.stringContaining('resume') });
    expect(await stored()).not.toHaveProperty('claim_id');
  });

  it('is left alone by a process that lost its claim, or that never had one', async () => {
    const { at, operation_id, stored } = await failing('redrive', 30);
    const slow = {
      ...at.deps,
      // Another process takes over while this one sends.
      send: async () => {
        at.pass(OPERATION_CLAIM_MS + 1);
        await runOperation(
          operation_id,
          { ...at.deps, pause: async () => at.pass(OPERATION_CLAIM_MS / 2) },
          () => at.sent.length >= 20,
        );
        const operation = await stored();
        const claim_until = new Date(at.deps.clock().getTime() + OPERATION_CLAIM_MS).toISOString();
        await at.deps.operations.change(operation, { set: { claim_id: 'healthy', claim_until } });
        return fail();
      },
    };
    await expect(runOperation(operation_id, slow, () => false)).rejects.toThrow('it is gone');
    expect(await stored()).toMatchObject({ status: 'running', claim_id: 'healthy' });
    // A duplicate of the message that started it, whose first read fails.
    const broken = { ...at.deps, operations: { ...at.deps.operations, change: async () => fail() } };
    expect(await runOperation(operation_id, broken, () => false)).toBe('busy');
    at.pass(2 * OPERATION_CLAIM_MS);
    await expect(runOperation(operation_id, broken, () => false)).rejects.toThrow('it is gone');
    expect(await stored()).toMatchObject({ status: 'running', claim_id: 'healthy' });
  });

  it.each(['redrive', 'cancel'] as const)(
    'is cancelled as it was asked for, and counts what it took: %s',
    async (kind) => {
      const { at, operation_id, stored } = await failing(kind, 20);
      let writes = 0;
      const deps = {
        ...at.deps,
        rows: {
          ...at.deps.rows,
          change: async (...given: Parameters<typeof at.deps.rows.change>) => {
            const write = ++writes;
            if (write === 5) await operate(operation_id, 'cancel', at.deps);
            return write > 10 ? fail() : at.deps.rows.change(...given);
          },
        },
      };
      await expect(runOperation(operation_id, deps, () => false)).rejects.toThrow('it is gone');
      expect(await stored()).toMatchObject({ status: 'cancelled', progress: { matched: 10, taken: 10 } });
      expect(at.changed).toHaveLength(10);
    },
  );

  it.each(['running', 'failed', 'paused'] as const)(
    'counts what a process took that died, if it is cancelled while it is %s, and takes no more',
    async (status) => {
      const { at, operation_id, stored } = await failing('redrive', 20);
      // After the claim and the page, each before and after its write, and the writes of ten.
      await at.run(operation_id, [4 + 10], { alone: true });
      expect(at.changed).toHaveLength(10);
      if (status !== 'running') await at.deps.operations.change(await stored(), { set: { status } });
      await operate(operation_id, 'cancel', at.deps);
      await at.run(operation_id, []);
      expect(await stored()).toMatchObject({ status: 'cancelled', progress: { matched: 10, taken: 10 } });
      expect(await stored()).not.toHaveProperty('page');
      expect(at.changed).toHaveLength(10);
      expect(new Set(at.sent).size).toBe(10);
    },
  );

  it('is cancelled when that is asked for during the last page of its preview', async () => {
    const at = operationsWorld();
    for (let i = 0; i < 20; i++) at.put(deadRow(`N${i}`));
    const { operation_id } = await createOperation(request('redrive'), at.deps);
    const page = async (...given: Parameters<typeof at.deps.candidates.page>) => {
      await operate(operation_id, 'cancel', at.deps);
      return at.deps.candidates.page(...given);
    };
    await runOperation(operation_id, { ...at.deps, candidates: { page } }, () => false);
    expect(await at.stored(operation_id)).toMatchObject({ status: 'cancelled' });
    expect(possibleActs(await at.stored(operation_id))).toEqual([]);
    expect(await at.stored(operation_id)).not.toHaveProperty('wanted');
  });

  it.each(['pause', 'cancel'] as const)(
    'can be cancelled whose process died after a %s was asked for, and before it began that',
    async (act) => {
      const { at, operation_id, stored } = await failing('redrive', 20);
      await at.run(operation_id, [4 + 10], { alone: true });
      // The process that this starts dies, too, or is never started.
      at.pass(-OPERATION_CLAIM_MS);
      await operate(operation_id, act, at.deps);
      at.pass(2 * OPERATION_CLAIM_MS);
      expect(possibleActs(await stored())).toEqual(['cancel']);
      await operate(operation_id, 'cancel', at.deps);
      await at.run(operation_id, []);
      expect(await stored()).toMatchObject({ status: 'cancelled', progress: { taken: 10 } });
    },
  );

  it.each(['redrive', 'cancel'] as const)(
    'takes nothing after its claim, so that the process after it counts all: %s',
    async (kind) => {
      const { at, operation_id, stored } = await failing(kind, 20);
      let reads = 0;
      let others: Promise<unknown> | undefined;
      const deps = {
        ...at.deps,
        rows: {
          ...at.deps.rows,
          read: async (log_id: string) => {
            // From the tenth on, storage answers after the claim has ended, and others have done the work meanwhile.
            if (++reads < 10) return at.deps.rows.read(log_id);
            others ??= (async () => {
              await new Promise(setImmediate);
              at.pass(OPERATION_CLAIM_MS + 1);
              await operate(operation_id, 'cancel', at.deps);
              await runOperation(operation_id, at.deps, () => false);
            })();
            await others;
            return at.deps.rows.read(log_id);
          },
        },
      };
      expect(await runOperation(operation_id, deps, () => false)).toBe('busy');
      expect(await stored()).toMatchObject({ status: 'cancelled', progress: { matched: 9, taken: 9 } });
      expect(at.changed).toHaveLength(9);
    },
  );

  it.each(['create', 'start'] as const)(
    'says so when no process can be made to %s it, and can be resumed',
    async (act) => {
      const at = operationsWorld();
      at.put(deadRow('N1'));
      const broken = { ...at.deps, startRun: async () => fail() };
      const made = act === 'create' ? undefined : await createOperation(request('redrive'), at.deps);
      if (made !== undefined) await at.run(made.operation_id, []);
      const operation_id = made?.operation_id ?? 'op-mine';
      const begun =
        act === 'create'
          ? createOperation(request('redrive', { operation_id }), broken)
          : operate(operation_id, 'start', broken);
      await expect(begun).rejects.toThrow('it is gone');
      expect(await at.deps.operations.read(operation_id)).toMatchObject({ status: 'failed' });
      await operate(operation_id, 'resume', at.deps);
      await at.run(operation_id, []);
      expect(await at.deps.operations.read(operation_id)).toMatchObject(
        act === 'create' ? { status: 'ready', preview: { taken: 1 } } : { status: 'done', progress: { taken: 1 } },
      );
    },
  );
});

describe('an operation', () => {
  it('keeps its rate', async () => {
    const at = operationsWorld();
    for (let i = 0; i < 100; i++) at.put(deadRow(`N${i}`));
    const { operation_id } = await createOperation(request('redrive', { rate: 10 }), at.deps);
    await at.run(operation_id, []);
    await operate(operation_id, 'start', at.deps);
    const begun = at.deps.clock().getTime();
    await runOperation(operation_id, at.deps, () => false);
    expect(at.deps.clock().getTime() - begun).toBeGreaterThanOrEqual(9_900);
  });

  it('waits no longer between two pages because the clock was set back', async () => {
    const at = operationsWorld();
    for (let i = 0; i < 30; i++) at.put(deadRow(`N${i}`));
    const { operation_id } = await createOperation(request('redrive', { rate: 10 }), at.deps);
    await at.run(operation_id, []);
    await operate(operation_id, 'start', at.deps);
    const pauses: number[] = [];
    const deps = {
      ...at.deps,
      send: async () => {
        at.pass(-3_600_000);
        return [];
      },
      pause: async (ms: number) => void pauses.push(ms),
    };
    await runOperation(operation_id, deps, () => false);
    expect(pauses).toEqual([1_000, 1_000, 1_000]);
  });

  it('keeps its limit when others change what it took before its process died', async () => {
    const at = operationsWorld();
    for (let i = 0; i < 20; i++) at.put(deadRow(`N${i}`));
    const { operation_id } = await createOperation(request('redrive', { limit: 5, rate: 5 }), at.deps);
    await at.run(operation_id, []);
    await operate(operation_id, 'start', at.deps);
    // After the claim and the page, each before and after its write, and the writes of five.
    await at.run(operation_id, [4 + 5], { alone: true });
    expect(at.changed).toHaveLength(5);
    for (const log_id of at.changed) at.put(deadRow(log_id, { updated_at: at.deps.clock().toISOString() }));
    await at.run(operation_id, []);
    expect(at.changed).toHaveLength(5);
    expect(await at.stored(operation_id)).toMatchObject({ status: 'done', progress: { taken: 0 } });
  });

  it('leaves what matches no more when its page is taken, although its writer kept updated_at', async () => {
    const at = operationsWorld();
    for (const log_id of ['N1', 'N2']) at.put(deadRow(log_id, { tenant_id: 'T1' }));
    const { operation_id } = await createOperation(request('redrive', { filter: { tenant_id: 'T1' } }), at.deps);
    await at.run(operation_id, []);
    await operate(operation_id, 'start', at.deps);
    // After the claim and the page, each before and after its write.
    await at.run(operation_id, [4], { alone: true });
    at.put(deadRow('N1', { tenant_id: 'T2' }));
    await at.run(operation_id, []);
    expect(at.changed).toEqual(['N2']);
    expect(await at.stored(operation_id)).toMatchObject({ progress: { taken: 1, excluded: { changed: 1 } } });
  });

  it('does not take what others finished meanwhile', async () => {
    const at = operationsWorld();
    for (const log_id of ['N1', 'N2']) at.put(deadRow(log_id));
    const { operation_id } = await createOperation(request('redrive'), at.deps);
    await at.run(operation_id, []);
    at.put({ ...deadRow('N1'), send_status: 'SUCCESS' });
    await operate(operation_id, 'start', at.deps);
    await at.run(operation_id, []);
    expect(at.sent).toEqual(['N2']);
  });

  it('ends at a pause asked for while a page is in work, and goes on afterwards', async () => {
    const at = operationsWorld();
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

it.each([
  ['redrive', 1],
  ['give_up', 1],
  ['cancel', 0],
] as const)('that %s takes what is dead has its letters dropped, once it is done', async (kind, times) => {
  const at = operationsWorld();
  at.put(rowFor(kind, 'N1'));
  const { operation_id } = await createOperation(request(kind), at.deps);
  const dropped: unknown[] = [];
  const dropReplaced = async ({ replay_id, most }: Taken) => void dropped.push([replay_id, most]);
  const deps = { ...at.deps, dropReplaced };
  await runOperation(operation_id, deps, () => false);
  expect(dropped).toEqual([]);
  await operate(operation_id, 'start', at.deps);
  await runOperation(operation_id, deps, () => false);
  expect(dropped).toEqual(Array.from({ length: times }, () => [operation_id, 1]));
});

const OWN = { replay_id: 'op-1' } as const;
it.each([
  ['of one that it took', OWN, true],
  ['of one that it took and that died again', { ...OWN, dead_message_id: 'M2', dead_run_id: 'manual-op-1' }, true],
  ['of the death after it', { ...OWN, dead_message_id: 'M1', dead_run_id: 'sweep-1' }, false],
  ['of one that another operation took', { replay_id: 'op-2' }, false],
  ['of one that nobody took', {}, false],
  ['without a row', undefined, false],
] as const)('replaces a letter %s: %j, %s', (_, row, is) => {
  const message = { ...messageFor(deadRow('N1'), '2026-03-01T10:00:00.000Z', 'sweep-1') };
  const letter = { message, message_id: 'M1', sent_at: new Date(0), receive_count: 1 };
  const taken = { replay_id: 'op-1', channels: CHANNELS, most: 1, cut_off: '2026-03-01T11:00:00.000Z' };
  expect(isReplaced(letter, row && deadRow('N1', row), taken)).toBe(is);
});

it.each([
  [
    'of one that was chosen and starts anew',
    deadRow('N1', { work_queue: 'due#normal#1', dead_message_id: '', dead_run_id: '' }),
    true,
  ],
  [
    'of one that was chosen, whose only attempt has not begun',
    deadRow('N1', { dead_message_id: 'M1', dead_run_id: 'sweep-1' }),
    false,
  ],
  [
    'of one that was chosen, during that attempt',
    deadRow('N1', { send_status: 'SENDING', dead_message_id: 'M1' }),
    false,
  ],
  [
    'of one that was not chosen and is retried',
    deadRow('N2', { work_queue: 'due#normal#1', dead_message_id: '' }),
    false,
  ],
  ['of one that was not chosen and is delivered', { ...stoppedRow('N2'), send_status: 'SUCCESS' }, true],
] as const)('a person who takes some replaces a letter %s', (_, row, is) => {
  const message = { ...messageFor(row, '2026-03-01T10:00:00.000Z', 'sweep-1') };
  const taken = { log_ids: ['N1'], channels: CHANNELS, most: 1, cut_off: '2026-03-01T11:00:00.000Z' };
  const letter = { message, message_id: 'M1', sent_at: new Date(0), receive_count: 1 };
  expect(isReplaced(letter, row, taken)).toBe(is);
  // What the act itself sent may become the letter.
  expect(isReplaced({ ...letter, sent_at: new Date('2026-03-01T11:00:00.100Z') }, row, taken)).toBe(false);
});

it('leaves what it has sent itself, by which its notification may still die', () => {
  const taken = { replay_id: 'op-1', channels: CHANNELS, most: 1, cut_off: '2026-03-01T11:00:00.000Z' };
  const under = { send_status: 'SENDING', work_at: '2026-03-01T11:00:05.000Z' } as const;
  const claimed = dueRow({ log_id: 'N1', ...under, ...OWN });
  const message = { ...messageFor(claimed, '2026-03-01T11:00:05.000Z', 'manual-op-1') };
  const letter = { message, message_id: 'M2', sent_at: new Date('2026-03-01T11:00:05.500Z'), receive_count: 6 };
  // SQS has moved it to the DLQ while a worker has it.
  expect(isReplaced(letter, claimed, taken)).toBe(false);
});
