import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createBreakerStore } from '../../../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { opened } from '../../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../../src/core/breaker/breaker-policy.ts';
import { deadRow, type Operations, startOperations, storedRow } from '../../../support/cli/operations.ts';
import { type Loopback, startLoopback } from '../../../support/loopback.ts';
import { toldOf } from '../../../support/outcomes.ts';

let operations: Operations;
let bus: Loopback;
const told: { DetailType: string; Detail: string }[] = [];
/** How many requests the bus refuses before it takes what comes. */
let refuses = 0;
beforeAll(async () => {
  [operations, bus] = await Promise.all([startOperations(), startLoopback()]);
  bus.answer = (response, { body }) => {
    const { Entries } = JSON.parse(body);
    const taken = refuses-- <= 0;
    if (taken) told.push(...Entries);
    const answers = Entries.map(() => (taken ? { EventId: '1' } : { ErrorCode: 'InternalFailure' }));
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify({ FailedEntryCount: 0, Entries: answers }));
  };
}, 60_000);
afterAll(() => Promise.all([operations?.stop(), bus?.close()]));
beforeEach(() => {
  told.length = 0;
  refuses = 0;
});

const at = (hour: number) => `2026-03-01T${String(hour).padStart(2, '0')}:00:00.000Z`;

async function run(...args: string[]) {
  const { deployment } = operations;
  const { region, credentials } = deployment.clients.sqs;
  const eventbridge = { endpoint: bus.url, ...(region && { region }), ...(credentials && { credentials }) };
  const clients = { ...deployment.clients, eventbridge };
  const findDeployment = async () => ({ ...deployment, clients, outcomes_bus: 'the-bus' });
  return operations.run(['outcomes', 'resend', ...args, '--json'], { findDeployment, pause: async () => {} });
}

it('tells what happened in the period, by the ids of before, and nothing else', async () => {
  const sent = (log_id: string, hour: number) =>
    storedRow(log_id, { send_status: 'SUCCESS', last_attempt: 0, sent_at: at(hour) });
  const dead = { ...deadRow('dead'), work_at: at(11), last_attempt: 3, failure_reason: 'EXPIRED' as const };
  await operations.put(sent('early', 9), sent('told', 10), sent('late', 12), storedRow('due'), dead);
  const context = { now: new Date(at(11)), policy: DEFAULT_BREAKER_POLICY };
  const store = createBreakerStore(operations.dynamodb, operations.tables.pipeline_state, () => new Date());
  await store.write(opened({ id: 'slack#INT1', error_type: 'SERVER_OVERLOAD' }, undefined, context));

  const dry = await run('--from', at(10), '--to', at(12), '--dry-run');
  expect(told).toEqual([]);
  const { code, out } = await run('--from', at(10), '--to', at(12));
  expect(code).toBe(0);
  const by_kind = { 'Provider Down': 1, 'Notification Delivered': 1, 'Notification Given Up': 1 };
  expect(JSON.parse(out)).toMatchObject({ dry_run: false, told: 3, by_kind });
  expect(JSON.parse(dry.out)).toMatchObject({ dry_run: true, by_kind });
  const details = told.map(({ Detail }) => JSON.parse(Detail));
  expect(details.map(({ log_id, provider }) => log_id ?? provider).sort()).toEqual(['dead', 'slack#INT1', 'told']);
  const [before] = toldOf({ ...sent('told', 10) });
  expect(details.find(({ log_id }) => log_id === 'told').event_id).toBe(before?.detail.event_id);
  const { entries } = JSON.parse((await operations.run(['audit', '--json'])).out);
  expect(entries[0]).toMatchObject({ what: 'outcomes.resend', result: { told: 3 } });
});

it('tries again what the bus refuses, and says so where it stays refused', async () => {
  refuses = 2;
  expect((await run('--from', at(10), '--to', at(12))).code).toBe(0);
  refuses = 1_000;
  const { code, err } = await run('--from', at(10), '--to', at(12));
  expect(code).toBe(1);
  expect(err).toContain('The bus refused outcomes after 0 were told');
});

it('refuses a period without time in it, and a stage without outcomes', async () => {
  expect(await run('--from', at(12), '--to', at(10))).toMatchObject({ code: 2 });
  const { code, err } = await operations.run(['outcomes', 'resend', '--from', at(10), '--to', at(12)]);
  expect(code).toBe(1);
  expect(err).toContain('This stage tells no outcomes');
});
