import { afterAll, beforeAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { ended } from '../support/newsletter/flow/sent-newsletter.ts';

// A stage of its own: what operators did within a minute of each other a person has to order.
const flow = new Flow();

const READERS = ['r-1@example.com', 'r-2@example.com', 'r-3@example.com'];
/** A request of a producer. @returns the log_id */
const ask = async (path: string, more: object = {}): Promise<string> => {
  const { key } = await flow.opsJson<{ key: string }>('keys', 'create', '--tenant', 'TENANT001', '--scope', 'send');
  const answer = await fetch(`${flow.endpoints.endpoints.api}/v1/notifications`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': path },
    body: JSON.stringify({ channel: 'webhook', recipient: flow.at(`/webhook/${path}`), body: 'text', ...more }),
  });
  return ((await answer.json()) as { log_id: string }).log_id;
};

beforeAll(() => flow.start({ baseIntervalSeconds: 0.5 }), 180_000);
afterAll(() => flow.end(), 60_000);

it('restores a log that was lost, beside requests, redrives and a mailing: nothing is sent twice, lost or revived', async () => {
  const in_an_hour = new Date(Date.now() + 3_600_000).toISOString();
  const later = { next_retry_at: in_an_hour };
  const client = new NewsletterClient(flow);
  await client.setUp(READERS.map((email) => ({ email })));
  await flow.put([
    ...['lost-sent', 'lost-cancelled', 'lost-waits'].map((log_id) => flow.webhook(log_id, later)),
    flow.webhook('lost-over', {
      ...later,
      ...{ max_retry_count: 1, recipient_address: flow.at('/webhook/gone/lost-over'), fallback_channel: 'teams' },
      fallback_recipient: flow.at('/teams/ok/lost-over'),
    }),
    ...['lost-redriven', 'lost-dead'].map((log_id) =>
      flow.webhook(log_id, {
        recipient_address: flow.at(`/webhook/flaky-1/${log_id}`),
        max_retry_count: 0,
        send_status: 'PENDING',
      }),
    ),
  ]);
  await flow.job('--wait');
  await eventually(async () => ((await flow.deadLetters('webhook')) >= 2 ? true : undefined), 30_000);
  const restored_to = new Date(Date.now() - 10_000).toISOString();
  const copied = await flow.copyLog('restored-log');
  // What operators did within the five seconds by which clocks may differ, a person decides.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const mailing = await client.publish({ subject: 'News', body: 'Hello' });
  const asked_ok = await ask('ok/lost-asked');
  const asked_later = await ask('ok/lost-asked-later', { scheduled_at: in_an_hour });
  await flow.opsJson('retry', 'lost-sent', 'lost-over', '--wait');
  await flow.opsJson('retry', 'lost-redriven', '--redrive', '--wait');
  await flow.opsJson('cancel', 'lost-cancelled');
  await flow.until('lost-over-fallback', 'SUCCESS');
  await flow.until(asked_ok, 'SUCCESS');
  await flow.loseLog((log_id) => log_id.startsWith('lost-') || [asked_ok, asked_later].includes(log_id));
  const restore = ['restore', '--log', 'restored-log', '--restored-to', restored_to, '--yes'];
  const answer = await flow.opsJson<{ rows: object; asked: object[]; verified: object }>(...restore);
  expect({ copied, ...answer }).toMatchObject({
    rows: { delivered: 2, handed_on: 1, cancelled: 1, as_it_was: 2 },
    asked: [],
    verified: { holds: true },
  });
  await flow.job('--wait');
  expect(await flow.accepted(asked_later)).toBe(0);
  await flow.opsJson('retry', asked_later, '--wait');
  expect(await flow.row('lost-waits')).toMatchObject({ send_status: 'FAILED', work_at: later.next_retry_at });
  expect(await flow.row('lost-cancelled')).toMatchObject({ failure_reason: 'CANCELLED' });
  expect(await flow.row('lost-over-fallback')).toMatchObject({ send_status: 'SUCCESS' });
  expect(await flow.row('lost-dead')).toMatchObject({ failure_reason: 'MAX_RETRIES' });
  const once = ['lost-sent', 'lost-redriven', asked_ok, asked_later];
  expect(await Promise.all(once.map((one) => flow.accepted(one)))).toEqual([1, 1, 1, 1]);
  expect(await Promise.all(['lost-cancelled', 'lost-waits', 'lost-dead'].map((one) => flow.accepted(one)))).toEqual([
    0, 0, 0,
  ]);
  await ended(client, mailing, 60_000);
  expect((await client.receipts(mailing)).map(({ to }) => to).sort()).toEqual(READERS);
});
