import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBatchStore } from '../../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEventStore } from '../../../../src/adapters/dynamodb/newsletter/event-store.ts';
import { applyEvents } from '../../../../src/core/newsletter/events/apply-events.ts';
import type { EventKind, NewsletterEvent } from '../../../../src/core/newsletter/model/batch-events.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { startTestDynamoDb } from '../../../support/dynamodb.ts';
import { batchRow } from '../../../support/newsletter/job-rows.ts';
import { createTables } from '../../../support/tables.ts';

const NOW = new Date('2026-03-01T11:00:00.000Z');
let dynamodb: Awaited<ReturnType<typeof startTestDynamoDb>>;
let table: string;
let written = 0;

beforeAll(async () => {
  dynamodb = await startTestDynamoDb();
  table = (await createTables(dynamodb.client, 'costs')).email_batches;
  dynamodb.client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const isWrite = /^(Put|Update)ItemCommand$/.test(commandName ?? '');
        if (isWrite) Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
        return next(args).then((result) => {
          const output = result.output as { ConsumedCapacity?: { CapacityUnits?: number } };
          if (isWrite) written += output.ConsumedCapacity?.CapacityUnits ?? Number.NaN;
          return result;
        });
      },
    { step: 'initialize' },
  );
}, 60_000);
afterAll(() => dynamodb?.stop());

/** A whole batch of 1,000 recipients, whose deliveries come in groups as SQS collects them in seconds. */
it('costs 0.2 write units per delivery at most, and 1.2 per open that comes alone', async () => {
  const { client } = dynamodb;
  const batches = createBatchStore(client, table, () => NOW);
  const counts = { pending: 0, submitted: 1000, excluded: 0, failed: 0, uncertain: 0 };
  await batches.put(batchRow({ status: 'submitted', chunks: 20, counts }));
  const none = (): never => {
    throw new Error('no chunk and no member is needed');
  };
  const deps = {
    // One bounce in a thousand is no reason to look at the email.
    emails: { read: none, change: none },
    batches,
    chunks: { states: none, readState: none, readChunk: none, change: none },
    events: createEventStore(client, table, () => NOW),
    members: { suppress: none, read: none },
    sealing: { emailHash: none },
    warming: { report: none },
    clock: () => NOW,
    limits: DEFAULT_JOB_LIMITS,
  };
  const event = (place: number, ...kinds: EventKind[]): NewsletterEvent => ({
    email_id: 'email-1',
    batch_id: '00000',
    chunk: Math.floor(place / 50),
    n: place % 50,
    kinds: ['accepted', ...kinds],
  });
  const apply = (events: readonly NewsletterEvent[]) => applyEvents('email-1', '00000', events, deps);
  const places = Array.from({ length: 1_000 }, (_, i) => i);

  written = 0;
  for (let i = 0; i < 1_000; i += 20) await apply(places.slice(i, i + 20).map((place) => event(place, 'delivered')));
  expect(written / 1_000).toBeGreaterThan(0);
  expect(written / 1_000).toBeLessThanOrEqual(0.2);

  await apply([event(999, 'machine_opened'), event(998, 'bounced')]);
  written = 0;
  for (let i = 0; i < 100; i++) await apply([event(9 * i, 'opened')]);
  expect(written / 100).toBeLessThanOrEqual(1.2);
  written = 0;
  for (let i = 0; i < 100; i++) await apply([event(9 * i, 'opened')]);
  expect(written).toBe(0);
});
