import { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { deleteLetters, peekLetters, replacedLetters } from '../../../src/adapters/sqs/dead-letters.ts';
import { dueRow } from '../../support/rows.ts';
import { samplingQueue } from '../../support/sampling-queue.ts';

const url = 'http://sqs.local/000000000000/dead-letter';
const clientOf = (queue: ReturnType<typeof samplingQueue>) =>
  new SQSClient({
    region: 'us-east-1',
    endpoint: 'http://sqs.local',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    // Only what it answers matters.
    requestHandler: queue.handler as never,
  });
/** Twenty thousand letters take ten seconds, and a hundred and thirty thousand a minute: for whoever changes the walk. */
const FULL = process.env['FULL'] !== undefined;
const bodies = (count: number) => Array.from({ length: count }, (_, i) => `letter ${i}`);

describe('a walk through a dead-letter queue', () => {
  it.each([
    [FULL ? 20_000 : 2_000, FULL ? 20 : 170],
    [3_000, 200],
    [7, 20],
    [0, 20],
  ])(
    'of %i letters sees each once, although requests take %i ms each, and leaves all of them visible',
    async (count, requestMs) => {
      const queue = samplingQueue(bodies(count), { requestMs });
      const seen: string[] = [];
      for await (const letters of peekLetters(clientOf(queue), url)) seen.push(...letters.map(({ body }) => body));
      expect(seen).toHaveLength(count);
      expect(new Set(seen).size).toBe(count);
      expect(queue.inFlight()).toBe(0);
      // Each is received once or twice, not until chance finds the last one.
      expect(queue.requests['ReceiveMessage']).toBeLessThanOrEqual(count / 3 + 2);
    },
    60_000,
  );

  it('that deletes as it goes finds all that are to be deleted', async () => {
    const queue = samplingQueue(bodies(2_000), { requestMs: 250 });
    const client = clientOf(queue);
    const gone = new Set<string>();
    for await (const letters of peekLetters(client, url, gone)) {
      const odd = letters.filter(({ body }) => Number(body.split(' ')[1]) % 2 === 1);
      await deleteLetters(client, url, odd);
      for (const { message_id } of odd) gone.add(message_id);
    }
    expect(queue.left()).toHaveLength(1_000);
    expect(queue.left().every((body) => Number(body.split(' ')[1]) % 2 === 0)).toBe(true);
    expect(queue.inFlight()).toBe(0);
  });

  it('that ends early leaves the others visible at once', async () => {
    const queue = samplingQueue(bodies(500));
    for await (const letters of peekLetters(clientOf(queue), url)) if (letters.length > 0) break;
    expect(queue.inFlight()).toBe(0);
  });

  it.runIf(FULL)(
    'beyond what SQS hides at once says that there may be more',
    async () => {
      const queue = samplingQueue(bodies(130_000), { requestMs: 1 });
      const walk = async () => {
        let seen = 0;
        for await (const letters of peekLetters(clientOf(queue), url)) seen += letters.length;
        return seen;
      };
      await expect(walk()).rejects.toThrow(/120,000/);
      expect(queue.inFlight()).toBe(0);
    },
    120_000,
  );
});

it('an operation that has ended leaves the letters of those that it did not take, and no others', async () => {
  const message = (i: number) =>
    JSON.stringify({
      ...{ version: 1, log_id: `N${i}`, tenant_id: 'T1', channel: 'slack', priority: 'normal' },
      ...{ due: '2026-03-01T10:00:00.000Z', run_id: 'sweep-1' },
    });
  const queue = samplingQueue(Array.from({ length: 45 }, (_, i) => message(i)));
  const faults: unknown[] = [];
  const drop = replacedLetters({
    sqs: clientOf(queue),
    queues: { slack: url },
    // Five are dead; the other forty were redriven.
    rows: { read: async (log_id) => dueRow({ log_id, ...(Number(log_id.slice(1)) >= 5 && { replay_id: 'op-1' }) }) },
    onFault: (error) => faults.push(error),
  });
  const taken = { replay_id: 'op-1', cut_off: '9999-12-31T00:00:00.000Z', channels: ['slack'], most: 40 } as const;
  await drop({ ...taken, channels: ['email'] }, () => false);
  expect(queue.left()).toHaveLength(45);
  // As many as it took are gone: it looks no further.
  await drop({ ...taken, most: 1 }, () => false);
  expect(queue.left().length).toBeGreaterThanOrEqual(35);
  await drop(taken, () => false);
  expect(queue.left()).toHaveLength(5);
  expect(queue.inFlight()).toBe(0);
  expect(faults).toEqual([]);
});
