import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unusedPort } from '../../src/local/processes/tcp-ports.ts';
import { createRandom } from '../../tools/simulation/engine/virtual-time.ts';
import { startPartialProxy } from '../support/emulator/partial-proxy.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const ROWS = 200;
const WITHIN_MS = 240_000;

const flow = new Flow();
const proxies: Awaited<ReturnType<typeof startPartialProxy>>[] = [];

beforeAll(async () => {
  const [dynamodb, sqs] = [await unusedPort(), await unusedPort()];
  const [functionsDynamodb, functionsSqs] = [dynamodb, sqs].map((port) => `http://127.0.0.1:${port}`);
  if (functionsDynamodb === undefined || functionsSqs === undefined) throw new Error('There is no port.');
  await flow.start({ functionsDynamodb, functionsSqs, baseIntervalSeconds: 1 });
  const { endpoints } = flow.endpoints;
  proxies.push(await startPartialProxy(endpoints.dynamodb, dynamodb, createRandom(1, 'dynamodb')));
  proxies.push(await startPartialProxy(endpoints.sqs, sqs, createRandom(2, 'sqs')));
}, 180_000);
afterAll(async () => {
  for (const proxy of proxies) proxy.close();
  await flow.end();
}, 60_000);

it('delivers each notification once while batches fail in part and requests are applied twice', async () => {
  const { simulator } = flow.endpoints.endpoints;
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    log_id: `partial-${i}`,
    tenant_id: 'TENANT001',
    notification_type: 'WEBHOOK',
    priority: 'urgent',
    recipient_address: `${simulator}/webhook/ok/partial-${i}`,
    message_body: 'text',
    send_status: 'FAILED',
    send_attempts: 1,
  }));
  await flow.put(rows);
  await eventually(async () => {
    await setTimeout(3_000);
    await flow.invoke('dispatcher', {});
    return (await flow.rows()).every(({ send_status }) => send_status === 'SUCCESS') || undefined;
  }, WITHIN_MS);
  const accepted = (await flow.received('channel=webhook')).filter((one) => one.accepted);
  const [dynamodb, sqs] = proxies.map(({ counts }) => counts);
  console.log(JSON.stringify({ rows: ROWS, accepted: accepted.length, dynamodb, sqs }));
  expect(new Set(accepted.map(({ log_id }) => log_id)).size).toBe(ROWS);
  expect(accepted).toHaveLength(ROWS);
  for (const counts of [dynamodb, sqs]) {
    expect(counts?.partial).toBeGreaterThan(5);
    expect(counts?.repeated).toBeGreaterThan(0);
  }
}, 300_000);
