import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BreakerStatus } from '../../src/core/operator/breaker-status.ts';
import { eventually } from '../local/tiny-app.ts';
import { Flow } from './harness.ts';

const COMMAND = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
const flow = new Flow();
const SHOP = '/webhook/shop';

async function breakers(): Promise<BreakerStatus[]> {
  const args = [COMMAND, 'status', '--local', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: flow.directory });
  const lanes: { breakers: BreakerStatus[] }[] = JSON.parse(stdout);
  return lanes[0] === undefined ? [] : lanes.filter((_, i) => i % 2 === 0).flatMap((lane) => lane.breakers);
}

async function provider(method: 'PUT' | 'DELETE'): Promise<void> {
  await fetch(`${flow.endpoints.endpoints.simulator}/_down${SHOP}`, { method });
}

const row = (log_id: string, path: string, changes: Record<string, unknown> = {}) => ({
  log_id,
  tenant_id: 'TENANT001',
  notification_type: 'WEBHOOK',
  recipient_address: `${flow.endpoints.endpoints.simulator}${path}/${log_id}`,
  message_body: '本文',
  send_status: 'FAILED',
  send_attempts: 1,
  ...changes,
});
const states = async (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await flow.row(id))['send_status'] as string));
const all = (ids: readonly string[], state: string) =>
  eventually(async () => ((await states(ids)).every((one) => one === state) ? true : undefined), 60_000);

beforeAll(
  () => flow.start({ baseIntervalSeconds: 1, breaker: { interval_seconds: 2, max_interval_seconds: 2 } }),
  180_000,
);
afterAll(async () => {
  await flow.stop();
  flow.remove();
}, 60_000);

describe('a provider that is down for a while', () => {
  const held = Array.from({ length: 12 }, (_, i) => `shop-${i}`);
  const others = Array.from({ length: 6 }, (_, i) => `other-${i}`);

  it('uses up no retry, keeps nobody else waiting, and everything is delivered once when it is back', async () => {
    await provider('PUT');
    await flow.put([
      // The signing secret of the samples, so that it is an integration like any other; one retry is all they have.
      ...held.map((log_id) =>
        row(log_id, SHOP, { integration_config_id: 'local-webhook', max_retry_count: 1, send_attempts: 1 }),
      ),
      ...others.map((log_id) => row(log_id, '/webhook/ok')),
    ]);
    await flow.job();
    await all(others, 'SUCCESS');
    await eventually(async () => ((await breakers())[0]?.held ? true : undefined), 60_000);
    expect(await breakers()).toMatchObject([
      { channel: 'webhook', integration: 'local-webhook', state: 'open', last_error: 'SERVER_OVERLOAD' },
    ]);
    // Long enough for probes that fail.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(new Set(await states(held))).toEqual(new Set(['RETRY']));

    await provider('DELETE');
    await all(held, 'SUCCESS');
    let skipped = 0;
    for (const log_id of held) {
      const { send_attempts, retry_count } = await flow.row(log_id);
      expect({ send_attempts, retry_count }, log_id).toEqual({ send_attempts: 2, retry_count: 1 });
      const records = await flow.records(log_id);
      expect(records.at(-1)).toMatchObject({ retry_status: 'SUCCESS' });
      for (const record of records.slice(0, -1)) expect(record).toMatchObject({ uncounted: true });
      const puts = records.filter(({ retry_status }) => retry_status === 'SKIPPED');
      for (const put of puts) expect(put).toMatchObject({ error_details: '{"breaker":"webhook#local-webhook"}' });
      skipped += puts.length;
      const accepted = (await flow.received(`log_id=${log_id}`)).filter((request) => request.accepted);
      expect(accepted, log_id).toHaveLength(1);
    }
    expect(skipped).toBeGreaterThan(0);
    expect(await flow.deadLetters('webhook')).toBe(0);
  }, 180_000);
});

describe('a notification that is given up', () => {
  it('goes on on its fallback channel, once, if it names one', async () => {
    const fallback = (address: string) => ({ fallback_channel: 'email', fallback_recipient: address });
    await flow.put([
      row('fo-gone', '/webhook/gone', fallback('fo-gone@example.com')),
      row('fo-spent', '/webhook/status-503', { ...fallback('fo-spent@example.com'), max_retry_count: 1 }),
      row('fo-none', '/webhook/gone'),
    ]);
    await flow.job();
    const successors = ['fo-gone-fallback', 'fo-spent-fallback'];
    await all(successors, 'SUCCESS');
    await all(['fo-gone', 'fo-spent', 'fo-none'], 'FAILED');
    for (const log_id of ['fo-gone', 'fo-spent']) {
      expect(await flow.row(log_id)).toMatchObject({ successor_log_id: `${log_id}-fallback` });
      expect(await flow.row(log_id)).not.toHaveProperty('work_queue');
      expect(await flow.row(`${log_id}-fallback`)).toMatchObject({ predecessor_log_id: log_id, channel: 'email' });
      expect(await flow.received(`log_id=${log_id}-fallback`)).toMatchObject([{ channel: 'email', accepted: true }]);
    }
    expect(await flow.row('fo-none')).not.toHaveProperty('successor_log_id');
    expect(await flow.row('fo-none-fallback')).toEqual({});
    expect(await flow.deadLetters('webhook')).toBe(0);
    expect(await flow.dump()).not.toContain('fo-spent@example.com');
    expect(flow.logs()).not.toContain('fo-gone@example.com');
  }, 120_000);
});
