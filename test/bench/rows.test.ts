import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { parseQueueMessage } from '../../src/adapters/sqs/message-bodies.ts';
import { rowFaults } from '../../src/core/indexing/row-rules.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { expectNoFailures } from '../../tools/bench/setup/function.ts';
import { eventsFor } from '../../tools/bench/setup/lanes.ts';
import { bodyOf, dueAgain, dueItem, failedRow } from '../../tools/bench/setup/rows.ts';

const NOW = new Date('2026-03-01T10:30:00.000Z');
const ARN = 'arn:aws:sqs:us-east-1:000000000000:lane';
const SHAPE = { channel: 'webhook', recipient: 'https://example.com/hook', body: bodyOf(100) } as const;

describe("the benchmarks' notifications", () => {
  it('obey the rules of the table', () => expect(rowFaults(failedRow(SHAPE, NOW))).toEqual([]));

  it('are in the work index, without their content, where a sweep finds them', () => {
    const item = dueItem(SHAPE, NOW, 'log-1');
    expect(item).toMatchObject({
      log_id: { S: 'log-1' },
      work_queue: { S: workQueueOf('due', 'normal', 'log-1') },
      work_at: { S: NOW.toISOString() },
    });
    for (const column of ['recipient_address', 'subject', 'message_body']) expect(item).not.toHaveProperty(column);
  });

  it.each([1, 1024, 256 * 1024])('have bodies of exactly %i bytes, equal on each call', (bytes) => {
    expect(Buffer.byteLength(bodyOf(bytes))).toBe(bytes);
    expect(bodyOf(bytes)).toBe(bodyOf(bytes));
  });

  it('have bodies that compress as real texts do, so that no figure depends on repetition', () => {
    const share = deflateRawSync(bodyOf(8192)).length / 8192;
    expect(share).toBeGreaterThan(0.35);
    expect(share).toBeLessThan(0.6);
  });

  it('come in batches of messages that a channel function can read', () => {
    const items = Array.from({ length: 25 }, (_, i) => dueItem(SHAPE, NOW, `log-${i}`));
    const events = eventsFor(items, ARN, 10);
    expect(events.map(({ Records }) => Records.length)).toEqual([10, 10, 5]);
    expect(parseQueueMessage(events[0]?.Records[0]?.body ?? '')).toMatchObject({
      log_id: 'log-0',
      due: NOW.toISOString(),
      channel: 'webhook',
    });
  });

  it('come again for attempts that have no records yet', () => {
    const item = { ...dueItem(SHAPE, NOW, 'log-1'), last_attempt: { N: '2' } };
    const [first, second] = [0, 1].map((pass) => Number(dueAgain([item], pass)[0]?.['last_attempt']?.N));
    expect(first).toBe(2);
    expect(second).toBeGreaterThan(50);
  });

  it('count as delivered only when the function reports none as failed', () => {
    expect(() => expectNoFailures([{ batchItemFailures: [] }, null])).not.toThrow();
    expect(() => expectNoFailures([{ batchItemFailures: [{ itemIdentifier: 'm' }] }])).toThrow(/1 messages came back/);
  });
});
