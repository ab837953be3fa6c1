import { describe, expect, it } from 'vitest';
import { acceptBatch, type BatchDeps, type BatchItem } from '../../../src/core/intake/accept.ts';
import type { NotificationRequest } from '../../../src/core/intake/notification-request.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { QueuedMessage } from '../../../src/core/model/queue-message.ts';
import { intakeRequest, memoryIntake } from '../../support/api/intake.ts';

function setUp() {
  const { tables, deps } = memoryIntake();
  const sent: QueuedMessage[] = [];
  const faults: Error[][] = [];
  const batchDeps: BatchDeps = {
    ...deps,
    send: async (message) => {
      sent.push(message);
    },
    onFaults: (errors) => faults.push([...errors]),
  };
  return { tables, sent, faults, deps: batchDeps };
}

const item = (key: string, changes: Partial<NotificationRequest> = {}): BatchItem => ({
  ...intakeRequest(key, changes),
  idempotency_key: key,
});
const refused = new Problem('invalid-request', 'channel is required');

/** Storage fails for the notification with this body. */
function failingFor(deps: BatchDeps, body: string): BatchDeps {
  const reserve: BatchDeps['store']['reserve'] = (entry, now) =>
    entry.content.body === body ? Promise.reject(new Error('slow down')) : deps.store.reserve(entry, now);
  return { ...deps, store: { ...deps.store, reserve } };
}

describe('a batch', () => {
  it('gives one outcome per item, in the order of the request', async () => {
    const { deps, sent, tables, faults } = setUp();
    const outcomes = await acceptBatch([item('a', { body: 'a' }), refused, item('b', { body: 'b' })], deps);
    expect(outcomes).toEqual([
      expect.objectContaining({ status: 'processing', repeat: false }),
      refused,
      expect.objectContaining({ status: 'processing', repeat: false }),
    ]);
    const bodies = outcomes.map((one) => (one instanceof Problem ? one : tables.content.get(one.log_id)?.body));
    expect(bodies).toEqual(['a', refused, 'b']);
    expect(sent).toHaveLength(2);
    expect(faults).toEqual([]);
  });

  it('without items has no outcomes, and is no fault', async () => {
    const { deps, faults } = setUp();
    expect(await acceptBatch([], deps)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('answers items with the same key one after the other: the second is a repeat', async () => {
    const { deps, sent, tables } = setUp();
    expect(await acceptBatch([item('a'), item('a'), item('a', { body: 'another' })], deps)).toMatchObject([
      { repeat: false },
      { repeat: true },
      { name: 'Problem', problem: 'idempotency-key-reused' },
    ]);
    expect(tables.log.size).toBe(1);
    expect(sent).toHaveLength(1);
  });

  it('reports an item that failed on our side as unavailable, and accepts the others', async () => {
    const { deps, faults, tables } = setUp();
    const outcomes = await acceptBatch(
      [item('a', { body: 'a' }), item('b', { body: 'b' }), refused],
      failingFor(deps, 'a'),
    );
    expect(outcomes).toMatchObject([{ problem: 'unavailable' }, { repeat: false }, { problem: 'invalid-request' }]);
    expect(faults).toMatchObject([[{ message: 'slow down' }]]);
    expect(tables.log.size).toBe(1);
  });

  it('is refused as a whole when every item failed on our side', async () => {
    const { deps, faults } = setUp();
    const failing = failingFor(deps, 'a');
    await expect(acceptBatch([item('a', { body: 'a' }), item('b', { body: 'a' })], failing)).rejects.toMatchObject({
      problem: 'unavailable',
      extras: { retry_after_seconds: 2 },
    });
    expect(faults).toHaveLength(1);
  });

  it('sends the message of an item without waiting for an item that storage delays', async () => {
    const { deps, sent } = setUp();
    let answer: () => void = () => {};
    const delayed = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const putRow: BatchDeps['store']['putRow'] = async (row, recipient, now) => {
      if (row.notification_id === 'slow') await delayed;
      return deps.store.putRow(row, recipient, now);
    };
    const accepting = acceptBatch([item('a', { notification_id: 'slow' }), item('b')], {
      ...deps,
      store: { ...deps.store, putRow },
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toHaveLength(1);
    answer();
    expect(await accepting).toHaveLength(2);
    expect(sent).toHaveLength(2);
  });
});
