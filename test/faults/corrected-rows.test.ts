import { describe, expect, it, vi } from 'vitest';
import { deliverBatch } from '../../src/core/delivery/deliver.ts';
import type { ProviderGate, SendResult } from '../../src/core/delivery/ports.ts';
import { applyDeliveryEvent } from '../../src/core/delivery-events/apply-delivery-event.ts';
import { indexRow, type RowImage } from '../../src/core/indexing/index-row.ts';
import { hasContent, type NotificationRow } from '../../src/core/model/notification.ts';
import { planCorrection } from '../../src/core/operator/correct.ts';
import { passesFilter } from '../../tools/simulation/world/stores.ts';
import { refused, setUp } from '../support/delivering.ts';
import { PERMANENT, recordOf } from '../support/delivery-events.ts';
import { at, CONTENT, dueRow, iso, messageFor, received, T0 } from '../support/rows.ts';

const OLD = 'https://example.com/hook';
const NEW = 'https://example.com/corrected';
const TAKEN = { updated_by: 'notification-retry' } as Partial<NotificationRow>;

/** A row that was taken in, its writer, the stream with the deployed filter, the indexer, and a worker. */
function world(
  given: NotificationRow,
  answer: SendResult | (() => SendResult) = { ok: true, response_code: '200', provider_message_id: 'p1' },
) {
  const answered = () => (typeof answer === 'function' ? answer() : answer);
  const { tables, deps, put, deliveries } = setUp(answered, { clock: () => T0 });
  put({ ...given, ...({ history_bucket: '2026-03-01#1', notification_type: 'WEBHOOK' } as object) });
  const images: RowImage[] = [];
  const set = tables.log.set.bind(tables.log);
  let writes = 0;
  tables.log.set = (log_id, row) => {
    writes += 1;
    if (passesFilter(row)) images.push({ row, sequence: `${writes}` });
    return set(log_id, row);
  };
  const stored = () => tables.log.get('log-1') ?? {};
  return {
    images,
    tables,
    stored,
    writes: () => writes,
    sentTo: () => deliveries.map(({ content }) => content.recipient),
    bounce: (attempt: number, more: { suppressed?: true } = {}) => {
      const at = T0.toISOString();
      const event = { log_id: 'log-1', attempt, at, provider_message_id: 'p1', feedback: { ...PERMANENT, ...more } };
      return applyDeliveryEvent(event, { ...deps, rows: tables.eventRows });
    },
    work: () => deliverBatch([received(messageFor(tables.row('log-1') as NotificationRow))], deps),
    /** Its writer changes the row, and the indexer reads what the stream has for it. */
    correct: async (change: object) => {
      tables.log.set('log-1', { ...stored(), ...change });
      for (const image of images.splice(0))
        await indexRow(image, { store: tables, policy: deps.policy, clock: () => T0 });
    },
  };
}

describe('a writer that corrects a row that was taken in', () => {
  it.each([
    ['the recipient', { recipient_address: NEW }, { recipient: NEW, body: 'Hello', subject: '件名' }],
    ['the body', { message_body: 'corrected' }, { recipient: OLD, body: 'corrected', subject: '件名' }],
    ['the subject', { subject: '新しい件名' }, { recipient: OLD, body: 'Hello', subject: '新しい件名' }],
  ])('but only %s: the rest stays as it is stored', async (_, part, content) => {
    const { tables, correct, work, stored } = world(
      dueRow({ ...TAKEN, provider_host: 'example.com', recipient_hash: 'old' }),
    );
    await correct(part);
    expect(hasContent(stored())).toBe(false);
    expect(tables.content.get('log-1')).toMatchObject(content);
    const recipient_hash = 'recipient_address' in part ? `hash of tenant-1/${NEW}` : 'old';
    expect(stored()).toMatchObject({ provider_host: 'example.com', recipient_hash });
    await work();
    expect(stored()).toMatchObject({ send_status: 'SUCCESS' });
  });

  it.each([
    ['waits', {}],
    ['was delivered', { send_status: 'SUCCESS', work_queue: undefined }],
    ['was given up', { failure_reason: 'INVALID_RECIPIENT', work_queue: undefined }],
    ['is malformed', { max_retry_count: 'many' }],
  ])('so that no word about the recipient of before is left, where it %s', async (_, state) => {
    const said = { error_message: '550 no ann@example.com', error_details: '{"said":"ann@example.com"}' };
    const { tables, correct, stored } = world(dueRow({ ...TAKEN, ...said, ...(state as object) }));
    tables.retryLog.set('r', { retry_log_id: 'r', original_log_id: 'log-1', retry_attempt: 0, ...said } as never);
    tables.content.set('log-1', { ...CONTENT, tenant_id: 'tenant-1', error_details: said.error_details });
    await correct({ recipient_address: CONTENT.recipient, subject: '1' });
    expect(tables.retryLog.get('r')).toMatchObject(said);
    await correct({ recipient_address: NEW, subject: '2' });
    expect(tables.content.get('log-1')).toMatchObject({ recipient: NEW });
    expect(JSON.stringify([stored(), tables.content.get('log-1'), [...tables.retryLog]])).not.toContain('ann@');
  });

  it('and deleted it, after an event had shown that it arrived: it is delivered, and leaves no address', async () => {
    const shown = { delivery_by_attempt: { 0: 'seen' }, delivered_at: iso() } as const;
    const { correct, work, stored } = world(dueRow({ ...TAKEN, ...shown, send_status: 'RETRY', is_deleted: true }));
    await correct({ recipient_address: NEW });
    await work();
    expect(hasContent(stored())).toBe(false);
    expect(stored()).toMatchObject({ send_status: 'SUCCESS', is_deleted: true });
  });

  it('while a worker is faster than the indexer: nothing is sent, and no attempt counts', async () => {
    const { tables, work, stored } = world(dueRow(TAKEN));
    tables.log.set('log-1', { ...stored(), recipient_address: NEW });
    expect(await work()).toMatchObject([
      { held_by: { content: 'replaced' }, verdict: { status: 'RETRY', counted: false } },
    ]);
    expect(stored()).toMatchObject({ send_attempts: 1, attempts_left: 5 });
  });

  it('before the bounce of the old one has ended it: the new one gets it, whoever is faster', async () => {
    const { tables, correct, work, stored } = world(dueRow({ ...TAKEN, give_up: 'INVALID_RECIPIENT' }));
    tables.log.set('log-1', { ...stored(), recipient_address: NEW });
    expect(await work()).toMatchObject([{ held_by: { content: 'replaced' } }]);
    await correct({ next_retry_at: null });
    await work();
    expect(stored()).toMatchObject({ send_status: 'SUCCESS' });
    expect(tables.content.get('log-1')).toMatchObject({ recipient: NEW });
  });

  it.each([
    ['while the attempt is under way that is then refused', true],
    ['after the attempt that then bounces', false],
  ])('%s: the new one gets it, in another life', async (_, meanwhile) => {
    const { tables, correct, work, stored, bounce, sentTo } = world(dueRow(TAKEN), () => {
      if (!meanwhile || sentTo().length > 1) return { ok: true, response_code: '200', provider_message_id: 'p1' };
      tables.log.set('log-1', { ...stored(), recipient_address: NEW });
      return refused('INVALID_RECIPIENT');
    });
    await work();
    await correct(meanwhile ? {} : { recipient_address: NEW });
    expect(hasContent(stored())).toBe(false);
    if (!meanwhile) {
      expect(stored()).toMatchObject({ send_status: 'SUCCESS', next_life: 3, last_attempt: 1 });
      await bounce(1);
      expect(tables.retryLog.get('log-1#1')).toMatchObject({ retry_status: 'FAILED', evidence: 'bounced' });
    }
    expect(stored()).toMatchObject({ life: 3, last_attempt: 2, send_attempts: 0, attempts_left: 6 });
    // The worker leaves a minute to the indexer.
    tables.log.set('log-1', { ...stored(), work_at: iso() });
    await work();
    expect(stored()).toMatchObject({ send_status: 'SUCCESS', last_attempt: 3 });
    expect(stored()).not.toHaveProperty('next_life');
    expect(sentTo()).toEqual([OLD, NEW]);
  });

  it('after its delivery, but only the body: a bounce of its recipient ends it', async () => {
    const { correct, work, stored, bounce, sentTo } = world(dueRow(TAKEN));
    await work();
    await correct({ message_body: 'corrected' });
    await bounce(1);
    await work();
    expect(stored()).toMatchObject(ENDED);
    expect(sentTo()).toEqual([OLD]);
  });

  it('while an event is applied that read the row before: nothing that it notes goes on to the new recipient', async () => {
    const row = dueRow({ ...TAKEN, last_attempt: 2, work_at: iso(600_000) });
    const { tables, correct, bounce, stored, work, sentTo } = world(row);
    tables.retryLog.set('log-1#1', { ...recordOf(1), provider_message_id: 'p1' });
    tables.retryLog.set('log-1#2', recordOf(2, 'NETWORK_TIMEOUT'));
    vi.spyOn(tables.eventRows, 'read').mockImplementationOnce(async (log_id) => {
      const read = tables.row(log_id);
      tables.log.set(log_id, { ...stored(), recipient_address: NEW, message_body: 'x' });
      return read;
    });
    await bounce(1, { suppressed: true });
    expect(stored()).toMatchObject({ delivery_by_attempt: { 1: 'bounced' }, suppressed: true });
    await correct({});
    expect(stored()).toHaveProperty('life');
    for (const column of ['delivery_by_attempt', 'bounced_at', 'suppressed'])
      expect(stored()).not.toHaveProperty(column);
    await work();
    expect(sentTo()).toEqual([NEW]);
  });

  const ENDED = { send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' };
  it.each([
    ['is not sent to again', 'INVALID_RECIPIENT', true, ENDED],
    ['is not sent to again, if a worker is faster', 'INVALID_RECIPIENT', false, ENDED],
    ['gets what bounced for its body', 'FORMAT_ERROR', true, { send_status: 'SUCCESS' }],
  ] as const)('but not the recipient that has bounced: it %s', async (_, give_up, read, ending) => {
    const { tables, correct, work, stored } = world(dueRow({ ...TAKEN, give_up }));
    if (read) await correct({ message_body: 'corrected' });
    else tables.log.set('log-1', { ...stored(), message_body: 'corrected' });
    await work();
    expect(stored()).toMatchObject(ending);
  });

  it('but only the recipient, and whose tenant is another now: the content of the old one stays with it', async () => {
    const { tables, correct, stored } = world(dueRow(TAKEN));
    await correct({ tenant_id: 'tenant-2', recipient_address: NEW });
    expect(stored()).toMatchObject({ failure_reason: 'FORMAT_ERROR' });
    expect(tables.content.get('log-1')).toMatchObject({ tenant_id: 'tenant-1', recipient: OLD });
  });

  it.each(['INVALID_RECIPIENT', 'CANCELLED'] as const)(
    'and that was given up as %s, without removing the reason: its content leaves the row, and the reason stands',
    async (failure_reason) => {
      const { work_queue: _, ...given } = dueRow({ ...TAKEN, work_at: iso(), failure_reason });
      const { tables, correct, stored } = world(given);
      await correct({ recipient_address: NEW, message_body: 'corrected', updated_at: 'by its writer' });
      expect(hasContent(stored())).toBe(false);
      expect(tables.content.get('log-1')).toMatchObject({ recipient: NEW, body: 'corrected' });
      expect(stored()).toMatchObject({ failure_reason });
      expect(stored()).not.toHaveProperty('work_queue');
    },
  );
});

it('is settled by the worker that has its latest claim, when its writer puts it anew while it is sent', async () => {
  let [tokens, times] = [0, 0];
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { tables, deps, put } = setUp(
    async ({ content }) => {
      if (content.recipient === NEW) {
        begun.resolve();
        await ended.promise;
        return refused('NETWORK_TIMEOUT');
      }
      const anew = { log_id: 'log-1', tenant_id: 'tenant-1', notification_type: 'WEBHOOK', priority: 'normal' };
      const row = {
        ...anew,
        send_status: 'FAILED',
        recipient_address: NEW,
        message_body: 'x',
        message_format: 'PLAIN',
      };
      tables.log.set('log-1', row);
      await indexRow({ row, sequence: '9' }, { store: tables, policy: deps.policy, clock: () => T0 });
      other = deliverBatch([received(messageFor(tables.row('log-1') as NotificationRow))], deps);
      await begun.promise;
      return { ok: true, response_code: '200' };
    },
    { clock: () => at(times++), random: () => tokens++ / 1_000 },
  );
  let other: Promise<unknown> | undefined;
  const first = await deliverBatch([received(messageFor(put(dueRow())))], deps);
  expect(first).toMatchObject([{ dropped: 'the claim was lost before the outcome could be settled' }]);
  ended.resolve();
  await other;
  // No number is used again: that of the first attempt is recorded, and the writer's own send comes before the second.
  expect(tables.row('log-1')).toMatchObject({ send_status: 'RETRY', last_attempt: 3, life: 2 });
  expect(tables.retryLog.get('log-1#1')).toMatchObject({ retry_status: 'SUCCESS' });
  expect(tables.retryLog.get('log-1#3')).toMatchObject({ retry_status: 'FAILED', error_type: 'NETWORK_TIMEOUT' });
});

it('waits for no hold of what it was before, where an operator corrects what was never sent', async () => {
  const until = iso(3_600_000);
  const gate: ProviderGate = {
    admit: async () => ({ do: 'hold', until, error_type: 'SERVER_OVERLOAD', by: { breaker: 'webhook#example.com' } }),
  };
  const { tables, deps, put } = setUp(undefined, { clock: () => T0, gate });
  const never = { last_attempt: -1, send_attempts: 0, attempts_left: 6 };
  await deliverBatch([received(messageFor(put(dueRow(never))))], deps);
  const held = tables.row('log-1') as NotificationRow;
  expect(held).toMatchObject({ send_status: 'RETRY', send_attempts: 0, work_at: until });
  expect(planCorrection(held, { recipient: NEW }, { now: T0, policy: deps.policy }).due).toBe(iso());
});

it('costs nothing for a row that nobody edits: no image for the indexer, no write beside claim and settlement', async () => {
  const { work, stored, images, writes } = world(dueRow(TAKEN), refused('NETWORK_TIMEOUT'));
  await work();
  expect(stored()).toMatchObject({ send_status: 'RETRY' });
  expect({ images, writes: writes() }).toEqual({ images: [], writes: 2 });
});
