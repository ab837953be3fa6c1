import { afterAll, beforeAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const RATE = 10;
const NORMAL = 130;
const URGENT = 20;

const flows: Flow[] = [];
let flow: Flow;
async function startWith(sesLimits: object): Promise<void> {
  flow = new Flow();
  flows.push(flow);
  await flow.start({ baseIntervalSeconds: 2, sesLimits });
}

beforeAll(() => startWith({ per_second: RATE }), 180_000);
afterAll(async () => {
  for (const one of flows) {
    await one.stop();
    one.remove();
  }
}, 60_000);

const row = (
  log_id: string,
  priority: string,
  notification_type = 'EMAIL',
  recipient_address = `${log_id}@example.com`,
) => ({
  log_id,
  tenant_id: 'TENANT001',
  notification_type,
  recipient_address,
  subject: 'paced',
  message_body: 'text',
  priority,
  send_status: 'FAILED',
  send_attempts: 1,
});
const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`);

interface Limits {
  readonly refused: Readonly<Record<string, number>>;
}
const limits = async (): Promise<Limits> =>
  (await fetch(`${flow.endpoints.endpoints.ses}/_limits`)).json() as Promise<Limits>;
/** Puts rows as BATCH-951 does, and starts a sweep once all are indexed. */
async function hand(rows: readonly { log_id: string }[]): Promise<void> {
  const ids = rows.map(({ log_id }) => log_id);
  await flow.put(rows);
  await found(ids, ({ work_queue }) => work_queue !== undefined);
  await flow.job();
}

/** Waits until all of the rows are as they should be. */
async function found(ids: readonly string[], isSo: (row: Record<string, unknown>) => boolean) {
  return eventually(async () => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const rows = new Map((await flow.rows()).map((one) => [one['log_id'], one]));
    const wanted = ids.map((id) => rows.get(id) ?? {});
    return wanted.every(isSo) ? wanted : undefined;
  }, 90_000);
}
const delivered = (ids: readonly string[]) => found(ids, ({ send_status }) => send_status === 'SUCCESS');

const median = (sorted: readonly number[]) => sorted[Math.floor(sorted.length / 2)] ?? 0;
const perSecond = (sorted: readonly number[]) => (1000 * sorted.length) / ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0));

it('sends a burst of e-mail at the rate that SES allows, urgent ones first, and SES hardly refuses one', async () => {
  const ids = [...numbered('normal', NORMAL), ...numbered('urgent', URGENT)];
  await hand(ids.map((log_id) => row(log_id, log_id.startsWith('urgent') ? 'urgent' : 'normal')));
  const rows = await delivered(ids);
  const times = (of: string) =>
    rows
      .filter(({ log_id }) => String(log_id).startsWith(of))
      .map(({ sent_at }) => Date.parse(String(sent_at)))
      .sort((a, b) => a - b);
  const all = times('');
  const { refused } = await limits();
  // None, unless this machine stalls a function between its slot and its call.
  expect(refused['rate']).toBeLessThanOrEqual(0.02 * ids.length);
  expect(refused['quota']).toBe(0);
  // Of the last few, only the time to come back would be measured. A busy machine is slower than the rate; in virtual
  // time, test/core/pacing/saturation.test.ts demands 95 %.
  const most = Math.floor(all.length * 0.8);
  expect(perSecond(all.slice(0, most))).toBeGreaterThanOrEqual(0.5 * RATE);
  expect(perSecond(all)).toBeLessThanOrEqual(1.1 * RATE);
  expect(median(times('urgent')) - (all[0] ?? 0)).toBeLessThan((median(times('normal')) - (all[0] ?? 0)) / 2);
  for (const { send_attempts } of rows) expect(send_attempts, 'waiting uses up no attempt').toBe(2);
  const budgets = await flow.opsJson<{ channel: string; budgets?: object[] }[]>('status');
  expect(budgets.find(({ channel }) => channel === 'email')?.budgets).toMatchObject([
    // A refusal lowers the planned rate for a minute.
    {
      per_second: refused['rate'] === 0 ? expect.closeTo(RATE * 0.98, 1) : expect.any(Number),
      sent_24h: expect.any(Number),
    },
  ]);
}, 180_000);

it('posts to one Slack channel once a second, without one refusal', async () => {
  const ids = numbered('slack', 6);
  await hand(
    ids.map((log_id) => ({ ...row(log_id, 'normal', 'SLACK', '#paced'), integration_config_id: 'local-slack' })),
  );
  const rows = await delivered(ids);
  const times = rows.map(({ sent_at }) => Date.parse(String(sent_at))).sort((a, b) => a - b);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(4_900);
  for (const { send_attempts } of rows) expect(send_attempts).toBe(2);
}, 120_000);

it('holds normal e-mail and still sends urgent e-mail when the daily quota is nearly used up', async () => {
  await flow.stop();
  // Two seconds' worth stay unused, at most half of the quota: of the other 50, `info` may use 40 and `normal` 45.
  await startWith({ per_day: 100, per_second: 50 });
  const first = numbered('first', 42);
  await hand(first.map((id) => row(id, 'normal')));
  await delivered(first);
  const [normal, urgent] = [numbered('late-normal', 3), numbered('late-urgent', 3)];
  await hand([...normal.map((id) => row(id, 'info')), ...urgent.map((id) => row(id, 'urgent'))]);
  await delivered(urgent);
  const held = await found(normal, ({ send_status }) => send_status === 'RETRY');
  for (const { next_retry_at, error_type, send_attempts } of held) {
    expect(error_type).toBe('RATE_LIMITED');
    expect(send_attempts).toBe(1);
    expect(Date.parse(String(next_retry_at)) - Date.now()).toBeGreaterThan(15 * 60_000);
  }
  const { stdout } = await flow.ops('status');
  expect(stdout).toMatch(/^email .*info, newsletter until /m);
  expect((await flow.ops('show', 'late-normal-0')).stdout).toContain('held: the budget of email is used up');
  expect(await limits()).toMatchObject({ refused: { quota: 0 } });
}, 180_000);
