import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { STATE_CALL_MS } from '../../src/core/delivery/policy/attempt-times.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { BreakableStorage } from '../support/newsletter/flow/breakable-storage.ts';

/** `RECEIVERS=5000` is the size of the budget. */
const RECEIVERS = Number(process.env['RECEIVERS'] ?? 500);
const HANG_MS = Number(process.env['HANG_MS'] ?? 60_000);
/** A sweep gives a lane what it takes in five minutes, so thousands of rows need several. */
const SWEEP_MS = 20_000;
/** Of a batch of ten on a busy machine, with what the queue and the start of a process take. */
const WITHOUT_HANG_MS = 3_000;

const flow = new Flow();
let storage: BreakableStorage;
beforeAll(async () => {
  storage = await BreakableStorage.start(() => flow.endpoints.endpoints.dynamodb);
  await flow.start({ functionsDynamodb: storage.url });
}, 180_000);
afterAll(async () => {
  await flow.stop();
  await storage?.close();
  flow.remove();
}, 60_000);

type Row = Readonly<Record<string, unknown>>;

/** A row of others whose receiver nobody else writes to. */
function row(log_id: string, channel: string): Row & { readonly log_id: string } {
  const { simulator } = flow.endpoints.endpoints;
  const addresses: Record<string, string> = {
    email: `ok+${log_id}@example.com`,
    slack: `#${log_id}`,
    teams: `${simulator}/teams/ok/${log_id}`,
    webhook: `${simulator}/webhook/ok/${log_id}`,
  };
  return {
    log_id,
    tenant_id: 'TENANT001',
    notification_type: channel.toUpperCase(),
    priority: 'urgent',
    recipient_address: addresses[channel],
    message_body: 'text',
    send_status: 'FAILED',
    send_attempts: 1,
    ...(channel === 'email' && { subject: 'hangs' }),
    ...(channel === 'slack' && { integration_config_id: 'local-slack' }),
  };
}

/** Puts rows, sweeps once they are indexed, and waits until they are delivered. @returns milliseconds, by row */
async function deliver(rows: readonly { readonly log_id: string }[], withinMs: number): Promise<Map<string, number>> {
  const ids = new Set(rows.map(({ log_id }) => log_id));
  const all = async (isSo: (one: Row) => boolean) => {
    const found = (await flow.rows()).filter((one) => ids.has(String(one['log_id'])));
    return (found.length === ids.size && found.every(isSo)) || undefined;
  };
  // Reading thousands of rows keeps this process from being the proxy meanwhile.
  const pause = 200 + 2 * ids.size;
  await flow.put(rows);
  await eventually(async () => (await setTimeout(pause)) ?? all((one) => one['work_queue'] !== undefined), withinMs);
  const swept = Date.now();
  await flow.job();
  let next = swept + SWEEP_MS;
  await eventually(async () => {
    await setTimeout(pause);
    if (Date.now() > next) {
      await flow.job();
      next = Date.now() + SWEEP_MS;
    }
    return all((one) => one['send_status'] === 'SUCCESS');
  }, withinMs);
  const found = (await flow.rows()).filter((one) => ids.has(String(one['log_id'])));
  return new Map(found.map((one) => [String(one['log_id']), Date.parse(String(one['sent_at'])) - swept]));
}

it('delivers on every channel while PipelineState answers nothing for a minute, none later than its limit', async () => {
  const batch = (name: string) =>
    CHANNELS.flatMap((channel) => [0, 1].map((i) => row(`${name}-${channel}-${i}`, channel)));
  await deliver(batch('warm'), 60_000);
  storage.break({ fault: 'hanging', tables: [flow.endpoints.tables.pipeline_state] });
  const ends = Date.now() + HANG_MS;
  const slowest: Record<string, number> = {};
  let rounds = 0;
  for (; Date.now() < ends; rounds++) {
    for (const [log_id, ms] of await deliver(batch(`hang-${rounds}`), 60_000)) {
      const channel = log_id.split('-')[2] ?? '';
      slowest[channel] = Math.max(slowest[channel] ?? 0, ms);
    }
  }
  const calls = storage.failed;
  storage.mend();
  console.log(JSON.stringify({ rounds, calls, slowest }));
  expect(rounds).toBeGreaterThan(1);
  expect(calls, 'calls that were not answered').toBeGreaterThan(4);
  // What budgets say, then what breakers say, each until its limit.
  for (const channel of CHANNELS) expect(slowest[channel], channel).toBeLessThan(2 * STATE_CALL_MS + WITHOUT_HANG_MS);
}, 240_000);

it(`costs at most 0.1 write units of PipelineState per message to ${RECEIVERS} receivers, as the table tells`, async () => {
  await setTimeout(6_000);
  storage.measure(flow.endpoints.tables.pipeline_state);
  const rows = Array.from({ length: RECEIVERS }, (_, i) => row(`paced-${i}`, 'teams'));
  // Five of them get four more at once, for which their budgets are asked.
  const { recipient_address } = row('paced', 'teams');
  for (let i = 0; i < 20; i++) {
    rows.push({ ...row(`more-${i}`, 'teams'), recipient_address: `${String(recipient_address)}-${i % 5}` });
  }
  const began = Date.now();
  await deliver(rows, 60_000 + RECEIVERS * 100);
  const per_message = storage.units / rows.length;
  console.log(JSON.stringify({ RECEIVERS, units: storage.units, per_message, seconds: (Date.now() - began) / 1000 }));
  expect(per_message).toBeGreaterThan(0);
  expect(per_message).toBeLessThanOrEqual(0.1);
}, 900_000);
