import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unusedPort } from '../../src/local/processes/tcp-ports.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { PYTHON_COMMANDS } from '../support/tools/tools.ts';

const ROWS = 100;
const WITHIN_MS = 240_000;

const flow = new Flow();
const proxies: ChildProcess[] = [];
const ports = { dynamodb: 0, sqs: 0 };
const urlOf = (service: keyof typeof ports) => `http://127.0.0.1:${ports[service]}`;

beforeAll(async () => {
  for (const service of ['dynamodb', 'sqs'] as const) ports[service] = await unusedPort();
  await flow.start({ functionsDynamodb: urlOf('dynamodb'), functionsSqs: urlOf('sqs'), baseIntervalSeconds: 1 });
}, 180_000);
afterAll(async () => {
  for (const proxy of proxies) proxy.kill();
  await flow.end();
}, 60_000);

/** What AWS does now and then: refusals, a connection that breaks before the call or after its effect, a late answer. */
const faults = (throttled: string) =>
  [
    { sequence: { fail: 1, pass: 9 }, error: { code: throttled, status: 400 } },
    { probability: 0.04, error: { code: 'InternalServerError', status: 500 } },
    { probability: 0.03, reset: true },
    { probability: 0.04, response: { abort_frac: 0.3 } },
    { probability: 0.02, latency: 2_000 },
  ].map((rule) => ({ service: '*', ...rule }));

/** microburst, a proxy that fails as AWS's protocols do, before a stand-in. */
async function fail(service: keyof typeof ports, throttled: string): Promise<void> {
  const args = ['--upstream', flow.endpoints.endpoints[service], '--port', String(ports[service])];
  proxies.push(spawn(join(PYTHON_COMMANDS, 'microburst'), args, { stdio: 'ignore' }));
  const rules = () =>
    fetch(`${urlOf(service)}/_microburst/rules`, { method: 'POST', body: JSON.stringify(faults(throttled)) });
  await eventually(async () => (await rules().catch(() => undefined))?.ok || undefined, 30_000);
}

const fired = async (service: keyof typeof ports): Promise<readonly object[]> =>
  (await fetch(`${urlOf(service)}/_microburst/fired?limit=100000`)).json() as Promise<object[]>;

it('delivers each notification once while nearly every fifth call to DynamoDB and SQS fails', async () => {
  await fail('dynamodb', 'ProvisionedThroughputExceededException');
  await fail('sqs', 'ThrottlingException');
  const { simulator } = flow.endpoints.endpoints;
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    log_id: `faulty-${i}`,
    tenant_id: 'TENANT001',
    notification_type: 'WEBHOOK',
    priority: 'urgent',
    recipient_address: `${simulator}/webhook/ok/faulty-${i}`,
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
  const counts = { dynamodb: (await fired('dynamodb')).length, sqs: (await fired('sqs')).length };
  console.log(JSON.stringify({ rows: ROWS, accepted: accepted.length, faults: counts }));
  expect(new Set(accepted.map(({ log_id }) => log_id)).size).toBe(ROWS);
  expect(accepted).toHaveLength(ROWS);
  expect(counts.dynamodb).toBeGreaterThan(20);
  expect(counts.sqs).toBeGreaterThan(0);
}, 300_000);
