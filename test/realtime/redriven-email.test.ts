import { afterAll, beforeAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const COUNT = 300;
const RATE = 14;

const flow = new Flow();
beforeAll(() => flow.start({ sesLimits: { per_second: RATE } }), 180_000);
afterAll(() => flow.end(), 60_000);

/** Refused for good: each attempt makes a dead letter, until somebody repairs the cause. */
const rows = Array.from({ length: COUNT }, (_, i) => ({
  log_id: `dead-${i}`,
  tenant_id: 'TENANT001',
  notification_type: 'EMAIL',
  recipient_address: `unauthorized+${i}@example.com`,
  subject: 'redriven',
  message_body: 'text',
  priority: 'normal',
  send_status: 'FAILED',
  send_attempts: 1,
}));

interface Letters {
  readonly dead_letters: readonly { readonly log_id: string; readonly state: string }[];
}

/** Waits until every notification is dead after this number of attempts, each with one letter in the DLQ. */
async function allDead(last_attempt: number): Promise<void> {
  const isDead = (row: Record<string, unknown>) =>
    row['last_attempt'] === last_attempt && String(row['work_queue']).startsWith('dead');
  await eventually(async () => {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    return (await flow.rows()).filter(isDead).length === COUNT || undefined;
  }, 150_000);
  const redrivable = await eventually(async () => {
    const all = ['--channel', 'email', '--limit', String(2 * COUNT)];
    const { dead_letters } = await flow.opsJson<Letters & Record<string, unknown>>('dlq', 'list', ...all);
    return dead_letters.length >= COUNT ? dead_letters : undefined;
  }, 60_000);
  expect(redrivable).toHaveLength(COUNT);
  expect(new Set(redrivable.filter(({ state }) => state === 'redrive').map(({ log_id }) => log_id)).size).toBe(COUNT);
}

it('attempts each of 300 redriven e-mails again, though SES takes 14 a second, and each has its letter again', async () => {
  await flow.put(rows);
  await eventually(async () => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    return (await flow.rows()).filter(({ work_queue }) => work_queue !== undefined).length === COUNT || undefined;
  }, 60_000);
  await flow.job();
  await allDead(1);
  for (let redrive = 1; redrive <= 2; redrive++) {
    expect(await flow.opsJson('dlq', 'redrive', '--channel', 'email', '--yes')).toEqual({ moved: COUNT });
    await allDead(1 + redrive);
    expect((await flow.rows()).every(({ redrive_count }) => redrive_count === redrive)).toBe(true);
  }
}, 900_000);
