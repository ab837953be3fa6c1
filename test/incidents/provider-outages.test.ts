import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const flow = new Flow();
const SHOP = '/webhook/shop';
const LEDGER = '/webhook/ledger';
const INTEGRATIONS = Object.fromEntries(
  ['shop', 'ledger', 'crm'].map((id) => [id, { secrets: [`whsec_${Buffer.alloc(24, id).toString('base64')}`] }]),
);

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
  () => flow.start({ baseIntervalSeconds: 1, breaker: { interval_seconds: 2, max_interval_seconds: 2 } }, INTEGRATIONS),
  180_000,
);
afterAll(() => flow.end(), 60_000);

describe('an incident: one provider is down, and another refuses two notifications that have one retry left', () => {
  const ids = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`);
  const held = ids('shop', 12);
  // Fewer than a breaker's minimum of samples, so these failures open no breaker.
  const spent = ids('ledger', 2);
  const others = [...ids('crm', 6), 'slack-0', 'teams-0'];
  // The output that an operator sees.
  const ops = async (...args: string[]) => {
    const { code, stdout, stderr } = await flow.ops(...args);
    expect(code, stderr).toBe(0);
    return stdout + stderr;
  };

  it('holds the affected notifications without using up retries, and delivers or gives up the others as usual', async () => {
    await Promise.all([flow.receiver(SHOP, 'down'), flow.receiver(LEDGER, 'down')]);
    const one_left = { max_retry_count: 1, send_attempts: 1 };
    const shop = (priority: string, ids: readonly string[]) =>
      ids.map((log_id) => row(log_id, SHOP, { integration_config_id: 'shop', ...one_left, priority }));
    // The eight of one batch open the breaker; the four of the other lane, fewer than its samples, find it open.
    await flow.put(shop('normal', held.slice(4)));
    await flow.job();
    await all(held.slice(4), 'RETRY');
    await flow.put([
      ...shop('urgent', held.slice(0, 4)),
      ...spent.map((log_id) => row(log_id, LEDGER, { integration_config_id: 'ledger', ...one_left })),
      ...ids('crm', 6).map((log_id) => row(log_id, '/webhook/ok', { integration_config_id: 'crm' })),
      row('slack-0', '', {
        notification_type: 'SLACK',
        recipient_address: '#ok',
        integration_config_id: 'local-slack',
      }),
      row('teams-0', '/teams/ok', { notification_type: 'TEAMS' }),
    ]);
    await flow.job();
    await all(others, 'SUCCESS');
    await all(spent, 'FAILED');
    await eventually(async () => ((await flow.deadLetters('webhook')) === 2 ? true : undefined), 60_000);
    await eventually(async () => {
      const rows = await Promise.all(held.map(flow.row, flow));
      const wait = rows.every(({ send_status, send_attempts }) => send_status === 'RETRY' && send_attempts === 1);
      return wait && (await skipped()).length >= held.length ? true : undefined;
    }, 60_000);
  }, 180_000);

  it('is visible per cause in status, list and show', async () => {
    const [status, dead, shown, waiting] = await Promise.all([
      ops('status'),
      ops('list', '--status', 'dead'),
      ops('show', 'ledger-0'),
      ops('show', 'shop-0'),
    ]);
    expect(status).toMatch(/^webhook +TENANT001@#shop +open .+ SERVER_OVERLOAD /m);
    expect(status).not.toMatch(/^webhook +\S*(ledger|crm) /m);
    expect(status).toContain('2 dead: npm run ops -- list --status dead --local');

    for (const log_id of spent) expect(dead).toMatch(new RegExp(`^${log_id} .* dead +MAX_RETRIES `, 'm'));
    expect(dead).not.toContain('shop-');
    expect(dead).toContain('npm run ops -- show LOG_ID --local');

    expect(shown).toMatch(/integration_config_id +ledger$/m);
    expect(shown).toMatch(/error_message +.*503/);
    expect(shown).toMatch(/^ +1 .* FAILED +SERVER_OVERLOAD +503 /m);
    expect(shown).toContain('What to do: Check that the receiver is up, then redrive.');
    expect(shown).toContain('All of webhook: npm run ops -- dlq redrive --channel webhook --local');

    expect(waiting).toMatch(/ SKIPPED +SERVER_OVERLOAD .* held: webhook#TENANT001@#shop is down$/m);
    expect(waiting).not.toContain('redrive');
  }, 120_000);

  it('ends for the dead letters when their cause is removed and they are redriven, although the provider is still down', async () => {
    await flow.receiver(LEDGER, 'up');
    expect(await ops('dlq', 'redrive', '--channel', 'webhook', '--yes')).toMatch(
      /^2 dead letters of webhook moved to their lanes\.\n.*npm run ops -- status --local/s,
    );
    await all(spent, 'SUCCESS');
    // RETRY, or SENDING while a notification is postponed or probes the provider.
    const still = await states(held);
    expect(still).not.toContain('SUCCESS');
    expect(still).not.toContain('FAILED');
  }, 120_000);

  it('ends for the held notifications when the provider is back: each is delivered once, with the one retry it had', async () => {
    await flow.receiver(SHOP, 'up');
    await all(held, 'SUCCESS');
    for (const log_id of held) {
      const { send_attempts, retry_count } = await flow.row(log_id);
      expect({ send_attempts, retry_count }, log_id).toEqual({ send_attempts: 2, retry_count: 1 });
      const records = await flow.records(log_id);
      expect(records.at(-1)).toMatchObject({ retry_status: 'SUCCESS' });
      for (const record of records.slice(0, -1)) expect(record).toMatchObject({ uncounted: true });
    }
    for (const put of await skipped())
      expect(put).toMatchObject({ error_details: '{"breaker":"webhook#TENANT001@#shop"}' });
    // Slack and Teams do not get the log_id; each got one notification.
    const accepted = (await flow.received('accepted=true')).map(({ log_id, channel }) => log_id ?? `${channel}-0`);
    expect(accepted.sort()).toEqual([...held, ...spent, ...others].sort());
    expect(await flow.deadLetters('webhook')).toBe(0);
    const status = await eventually(async () => {
      const text = await ops('status');
      return text.includes('Providers that are down') ? undefined : text;
    }, 30_000);
    expect(status).not.toContain(' dead: ');
  }, 180_000);

  async function skipped(): Promise<Record<string, unknown>[]> {
    const records = await Promise.all(held.map((log_id) => flow.records(log_id)));
    return records.flat().filter(({ retry_status }) => retry_status === 'SKIPPED');
  }
});

it('a notification that is given up is sent on its fallback channel once, if it names one', async () => {
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
