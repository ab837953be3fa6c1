import { BatchWriteItemCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { CHANNELS, PRIORITIES } from '../../src/core/model/channels.ts';
import { deadRow, type Operations, startOperations, storedRow } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';

const ROWS = Number(process.env['CONSOLE_ROWS'] ?? 100_000);
const MOST_MS = 1_000;
const HOUR_MS = 3_600_000;

let ops: Operations;
let page: TestConsole;
let ahead = 0;
beforeAll(async () => {
  ops = await startOperations();
  // The stand-in's stream makes a write ten times as slow, and nobody reads it here.
  const StreamSpecification = { StreamEnabled: false };
  await ops.dynamodb.send(new UpdateTableCommand({ TableName: ops.tables.notification_log, StreamSpecification }));
  await Promise.all([0, 1, 2, 3].map(putEveryFourth));
  page = await startTestConsole(ops, { clock: () => new Date(Date.now() + ahead) });
}, 1_800_000);
afterAll(async () => {
  await page?.stop();
  await ops?.stop();
});

/** Half of them dead, a fifth due, a tenth waiting, a fifth delivered; over all channels and priorities. */
function row(n: number) {
  const integration_config_id = `INT${n % 5}`;
  const [channel, priority] = [CHANNELS[n % 4], PRIORITIES[(n >> 2) % 4]];
  const given = {
    tenant_id: `T${n % 7}`,
    integration_config_id,
    ...(channel && { channel }),
    ...(priority && { priority }),
  };
  const kind = n % 10;
  if (kind < 5) return deadRow(`N${n}`, given);
  if (kind < 7) return storedRow(`N${n}`, given);
  if (kind < 8) return storedRow(`N${n}`, { ...given, work_at: new Date(Date.now() + 48 * HOUR_MS).toISOString() });
  const { work_queue: _, work_at: __, ...delivered } = storedRow(`N${n}`, { ...given, send_status: 'SUCCESS' });
  return delivered;
}

async function putEveryFourth(first: number): Promise<void> {
  for (let start = first * 25; start < ROWS; start += 100) {
    const size = Math.min(25, ROWS - start);
    const requests = Array.from({ length: size }, (_, i) => ({ PutRequest: { Item: toItem(row(start + i)) } }));
    await ops.dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [ops.tables.notification_log]: requests } }));
  }
}

/** Milliseconds of the median of five answers, none of which another one shares. */
async function median(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    ahead += 60_000;
    const begun = performance.now();
    await ask();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[2] ?? Number.POSITIVE_INFINITY;
}

it(`answers within a second at ${ROWS} rows, and counts them`, async () => {
  const list = (query: Readonly<Record<string, string>>) => () => page.ok('GET /api/notifications', { query });
  const times = {
    overview: await median(() => page.ok('GET /api/overview')),
    'list of the last day': await median(list({})),
    'list of the dead': await median(list({ status: 'dead' })),
    'list of one tenant and channel': await median(list({ tenant: 'T3', channel: 'slack' })),
    'list that nothing matches': await median(list({ status: 'SENDING' })),
    'dead letters': await median(() => page.ok('GET /api/dead-letters')),
  };
  console.log(JSON.stringify(Object.fromEntries(Object.entries(times).map(([what, ms]) => [what, Math.round(ms)]))));
  for (const [what, ms] of Object.entries(times)) expect(ms, what).toBeLessThan(MOST_MS);

  const { channels } = await page.ok('GET /api/overview');
  const dead = channels.reduce((sum, figures) => sum + figures.dead, 0);
  expect(Math.abs(dead - ROWS / 2) / (ROWS / 2)).toBeLessThan(0.1);
  // Nothing matches, but the answer says where reading goes on.
  expect(await list({ status: 'SENDING' })()).toMatchObject({ notifications: [], next_cursor: expect.any(String) });
}, 120_000);
