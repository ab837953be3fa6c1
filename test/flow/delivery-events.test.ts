import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SES_EVENTS } from '../corpus/ses-events/cases.ts';
import { acceptedRow, recordOf } from '../support/delivery-events.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventOf } from '../support/lib/ses-rules.ts';
import { eventually } from '../support/local/tiny-app.ts';

const flow = new Flow();
const CONFIGURATION_SET = 'notification-retry-local';
/**
 * Longer than an event takes from SES to the row: if the event failed to prevent something, it would happen by then.
 */
const BASE_INTERVAL_SECONDS = 6;
const row = (log_id: string, local: string, changes: Record<string, unknown> = {}) => ({
  log_id,
  tenant_id: 'TENANT001',
  notification_type: 'EMAIL',
  recipient_type: 'USER',
  recipient_address: `${local}@example.com`,
  subject: 'very private subject',
  message_body: `本文 ${log_id}`,
  send_status: 'FAILED',
  priority_level: 'MEDIUM',
  ...changes,
});
const until = (log_id: string, expected: Record<string, unknown>) =>
  eventually(async () => {
    const found = await flow.row(log_id);
    return Object.entries(expected).every(([name, value]) => found[name] === value) ? found : undefined;
  }, 60_000);
const sent = async (log_id: string) =>
  (await flow.received(`channel=email&log_id=${encodeURIComponent(log_id)}`)).length;

beforeAll(() => flow.start({ baseIntervalSeconds: BASE_INTERVAL_SECONDS, console: false }), 180_000);
afterAll(() => flow.end(), 60_000);

describe('the events of an e-mail that SES has accepted', () => {
  beforeAll(async () => {
    await flow.put([
      row('e-ok', 'hanako.secret'),
      row('e-open', 'open+hanako.secret'),
      row('e-complaint', 'complaint+hanako.secret'),
      row('e-bounce', 'bounce+hanako.secret'),
      row('e-soft', 'softbounce+hanako.secret'),
      row('e-lost', 'unanswered+hanako.secret'),
      row('e-reject', 'reject+hanako.secret'),
      row('mail@日本', 'ok+hanako.secret'),
    ]);
    await flow.job('--wait');
  }, 60_000);

  it.each(['e-ok', 'e-open', 'e-complaint', 'mail@日本'])(
    'record the time of the delivery of %s',
    async (log_id) => {
      const found = await eventually(async () => {
        const now = await flow.row(log_id);
        return now['delivered_at'] === undefined ? undefined : now;
      }, 30_000);
      expect(found).toMatchObject({ send_status: 'SUCCESS', delivered_at: expect.stringMatching(/^\d{4}-.*Z$/) });
      expect(await sent(log_id)).toBe(1);
    },
    60_000,
  );

  it('record the times of an opening and a complaint, and suppress the address that complained', async () => {
    await eventually(async () => (await flow.row('e-open'))['opened_at'], 30_000);
    const complained = await until('e-complaint', { suppressed: true });
    expect(complained).toMatchObject({ send_status: 'SUCCESS', complained_at: expect.any(String) });
  }, 60_000);

  it('stop a notification after a hard bounce, with its reason and without a dead letter', async () => {
    expect(await until('e-bounce', { send_status: 'FAILED' })).toMatchObject({
      failure_reason: 'INVALID_RECIPIENT',
      error_type: 'INVALID_RECIPIENT',
      error_message: 'the mail bounced: Permanent, General, 5.1.1',
      bounced_at: expect.any(String),
    });
    expect(await flow.row('e-bounce')).not.toHaveProperty('work_queue');
    expect(await flow.records('e-bounce')).toMatchObject([
      { retry_attempt: 1, retry_status: 'FAILED', error_type: 'INVALID_RECIPIENT' },
      { retry_attempt: 2, retry_status: 'SKIPPED', failure_reason: 'INVALID_RECIPIENT' },
    ]);
    expect(await sent('e-bounce')).toBe(1);
  }, 60_000);

  it('move a mail in which SES found a virus to the dead letters', async () => {
    expect(await until('e-reject', { send_status: 'FAILED' })).toMatchObject({ failure_reason: 'FORMAT_ERROR' });
    await eventually(async () => ((await flow.deadLetters('email')) === 1 ? true : undefined), 30_000);
    expect(await sent('e-reject')).toBe(1);
  }, 60_000);

  it('prevent another sending of a mail that arrived although SES’s answer was lost', async () => {
    const found = await until('e-lost', { send_status: 'SUCCESS' });
    expect(found).toMatchObject({ delivered_at: expect.any(String), send_attempts: 2 });
    expect(await flow.records('e-lost')).toMatchObject([
      { retry_attempt: 1, retry_status: 'SUCCESS', provider_message_id: expect.any(String) },
    ]);
  }, 60_000);

  it('cause a retry after a soft bounce, and the mail is delivered', async () => {
    const found = await eventually(async () => {
      const now = await flow.row('e-soft');
      return now['last_attempt'] === 2 && now['delivered_at'] !== undefined ? now : undefined;
    }, 60_000);
    expect(found).toMatchObject({ send_status: 'SUCCESS', send_attempts: 3, bounced_at: expect.any(String) });
    expect((await flow.records('e-soft')).map(({ retry_status }) => retry_status)).toEqual(['FAILED', 'SUCCESS']);
    expect(await sent('e-soft')).toBe(2);
  }, 90_000);

  it('have caused no duplicate, and no address is in queues or logs', async () => {
    expect(await flow.job('--dry-run')).toMatchObject({ due: 0 });
    expect(await sent('e-lost')).toBe(1);
    expect(flow.logs()).not.toMatch(/hanako|private subject/);
    expect(await flow.dump()).not.toMatch(/hanako/);
  }, 60_000);
});

describe('each event that SES documents, and each that it may add', () => {
  const told = SES_EVENTS.map((one, index) => ({ ...one, log_id: `ses-${index}` }));

  beforeAll(async () => {
    await flow.put(told.map(({ log_id }) => Object.fromEntries(Object.entries(acceptedRow({ log_id })))));
    await flow.putRecords(
      told.map(({ log_id }) => Object.fromEntries(Object.entries({ ...recordOf(2), original_log_id: log_id }))),
    );
    const entries = told.map((one) => {
      const tags = { 'ses:configuration-set': CONFIGURATION_SET, log_id: one.log_id, attempt: '2' };
      const event = eventOf(one, tags);
      return { Source: 'aws.ses', DetailType: 'Email', Detail: JSON.stringify(event['detail']) };
    });
    // One that is refused as a whole would be the test's own fault: ten is the most.
    for (let start = 0; start < entries.length; start += 10) {
      const answer = await fetch(`${flow.endpoints.endpoints.simulator}/eventbridge`, {
        method: 'POST',
        headers: { 'x-amz-target': 'AWSEvents.PutEvents' },
        body: JSON.stringify({ Entries: entries.slice(start, start + 10) }),
      });
      expect(await answer.json()).toMatchObject({ FailedEntryCount: 0 });
    }
  }, 60_000);

  it('goes by a rule and a queue to its function, which notes it once', async () => {
    const noted = async () => {
      const rows = await Promise.all(told.map(({ log_id }) => flow.row(log_id)));
      return rows.map((row, index) => ({
        name: told[index]?.name,
        shows: Object(row['delivery_by_attempt'])['2'],
        opened: row['opened_at'] !== undefined,
        complained: row['complained_at'] !== undefined,
      }));
    };
    const expected = told.map(({ name, retry }) => ({
      name,
      shows: retry?.shows,
      opened: retry?.opened ?? false,
      complained: retry?.complained ?? false,
    }));
    await vi.waitFor(async () => expect(await noted()).toEqual(expected), { timeout: 45_000, interval: 500 });
    expect(await flow.dump()).not.toMatch(/hanako/);
  }, 90_000);
});
