import { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { deleteLetters, peekLetters } from '../../../src/adapters/sqs/dead-letters.ts';
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
    const queue = samplingQueue(bodies(5_000), { requestMs: 100 });
    const client = clientOf(queue);
    const gone = new Set<string>();
    for await (const letters of peekLetters(client, url, gone)) {
      const odd = letters.filter(({ body }) => Number(body.split(' ')[1]) % 2 === 1);
      await deleteLetters(client, url, odd);
      for (const { message_id } of odd) gone.add(message_id);
    }
    expect(queue.left()).toHaveLength(2_500);
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
