import { describe, expect, it } from 'vitest';
import { deliverBatch } from '../../src/core/delivery/deliver.ts';
import type { SendResult } from '../../src/core/delivery/ports.ts';
import { applyDeliveryEvent } from '../../src/core/delivery-events/apply-delivery-event.ts';
import { indexRow } from '../../src/core/indexing/index-row.ts';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { refused, retryRecord, setUp } from '../support/delivering.ts';
import { at, dueRow, iso, messageFor, received } from '../support/rows.ts';

const HOUR = 3_600_000;
const ANEW = { log_id: 'log-1', tenant_id: 'tenant-1', notification_type: 'WEBHOOK', priority: 'normal' };
const content = (name: string) => ({
  recipient_address: `https://${name}.example.com/hook`,
  message_body: name,
  message_format: 'PLAIN',
  fallback_channel: 'teams',
  fallback_recipient: `https://${name}.example.com/fallback`,
});

/** A row with its writer, the indexer, and workers whose sends are noted. @param answer by the body that is sent */
function world(answer: (body: string) => SendResult) {
  let now = 0;
  let tokens = 0;
  const sent: { log_id: string; attempt: number; recipient: string; body: string }[] = [];
  const { deps, tables, queued } = setUp(
    async ({ log_id, attempt, content: { recipient, body } }) => {
      sent.push({ log_id, attempt, recipient, body });
      return answer(body);
    },
    { clock: () => at(now), random: () => ++tokens / 1_000 },
  );
  const row = (log_id = 'log-1') => tables.row(log_id) as NotificationRow;
  return {
    tables,
    deps,
    sent,
    queued,
    row,
    pass: (ms: number) => {
      now += ms;
    },
    put: (stored: object) => tables.log.set('log-1', { ...stored }),
    takeIn: (sequence: string) =>
      indexRow(
        { row: tables.log.get('log-1') ?? {}, sequence },
        { store: tables, policy: deps.policy, clock: () => at(now) },
      ),
    /** Until it waits for another time. */
    work: async (log_id = 'log-1', more: Partial<typeof deps> = {}) => {
      now = Math.max(now, Date.parse(row(log_id).work_at ?? '') - at(0).getTime(), now + 1_000);
      return deliverBatch([received(messageFor(row(log_id)))], { ...deps, ...more });
    },
  };
}

describe('a notification that lives twice', () => {
  const wrong = () => refused('INVALID_RECIPIENT');

  it.each([
    ['is corrected', {}],
    ['is put anew', undefined],
  ])('and %s after it was failed over has a successor of its own, with its own words and address', async (_, kept) => {
    const { tables, put, takeIn, work, row, sent } = world(() => ({ ok: true, response_code: '200' }));
    put({ ...ANEW, send_status: 'FAILED', ...content('first') });
    await takeIn('1');
    await tables.records.putIfAbsent(retryRecord({}));
    // What its first life came to: the successor of that is delivered.
    const first = row();
    const over = { send_status: 'FAILED', failure_reason: 'MAX_RETRIES', last_attempt: 1 };
    tables.log.set('log-1', { ...first, ...over, successor_log_id: 'log-1-fallback' });
    tables.log.set('log-1-fallback', {
      ...dueRow({ log_id: 'log-1-fallback', predecessor_log_id: 'log-1', send_status: 'SUCCESS' }),
    });
    const { failure_reason: _reason, work_queue: _queue, ...corrected } = { ...row() };
    put({
      ...(kept ? { ...corrected, send_status: 'FAILED' } : { ...ANEW, send_status: 'FAILED' }),
      ...content('second'),
    });
    await takeIn('2');
    expect(row()).toMatchObject({ life: 3, last_attempt: kept ? 2 : 3, send_attempts: kept ? 0 : 1 });
    expect(row()).not.toHaveProperty('successor_log_id');
    tables.log.set('log-1', { ...row(), give_up: 'MAX_RETRIES' });
    await work();
    expect(row()).toMatchObject({ failure_reason: 'MAX_RETRIES', successor_log_id: 'log-1-fallback-3' });
    await work('log-1-fallback-3');
    const { recipient, body } = { recipient: 'https://second.example.com/fallback', body: 'second' };
    expect(sent).toEqual([{ log_id: 'log-1-fallback-3', attempt: 0, recipient, body }]);
  });

  it('is not kept from the recipient that it has now by what the one before has said', async () => {
    const { put, takeIn, row } = world(wrong);
    put({ ...ANEW, send_status: 'FAILED', ...content('first') });
    await takeIn('1');
    const said = { suppressed: true, complained_at: iso() };
    put({ ...row(), ...said, message_body: 'only other words' });
    await takeIn('2');
    expect(row()).toMatchObject({ ...said, life: expect.any(Number) });
    put({ ...row(), ...content('second') });
    await takeIn('3');
    for (const name of Object.keys(said)) expect(row()).not.toHaveProperty(name);
  });

  it('keeps nothing of a worker that died between the content of a successor and its row', async () => {
    const { tables, put, takeIn, work, row, sent } = world(wrong);
    put({ ...ANEW, send_status: 'FAILED', ...content('first') });
    await takeIn('1');
    await work('log-1', { successors: { ...tables.successors, put: () => Promise.reject(new Error('dies')) } });
    expect(tables.content.get('log-1-fallback')).toMatchObject({ body: 'first' });
    expect(tables.row('log-1-fallback')).toBeUndefined();
    put({ ...ANEW, send_status: 'FAILED', ...content('second') });
    await takeIn('2');
    await work();
    const { successor_log_id = '' } = row();
    await work(successor_log_id);
    expect(sent.at(-1)).toMatchObject({ recipient: 'https://second.example.com/fallback', body: 'second' });
    expect(tables.row(successor_log_id)?.recipient_hash).toBe('hash of tenant-1/https://second.example.com/fallback');
  });

  it('has a successor that is not sent any more once it lives anew', async () => {
    const { put, takeIn, work, row, sent } = world(wrong);
    put({ ...ANEW, send_status: 'FAILED', ...content('first') });
    await takeIn('1');
    await work();
    expect(row()).toMatchObject({ successor_log_id: 'log-1-fallback' });
    put({ ...ANEW, send_status: 'FAILED', ...content('second') });
    await work('log-1-fallback');
    expect(row('log-1-fallback')).toMatchObject({ failure_reason: 'CANCELLED', send_attempts: 0 });
    await takeIn('2');
    await work();
    expect(row()).toMatchObject({ successor_log_id: expect.stringMatching(/^log-1-fallback-\d+$/) });
    expect(sent.map(({ log_id }) => log_id)).toEqual(['log-1', 'log-1']);
  });

  it('numbers its attempts on, so that each is recorded, though the clock of its worker is behind', async () => {
    const { tables, put, takeIn, work, row, sent, pass } = world((body) =>
      body === 'first' ? refused('NETWORK_TIMEOUT') : { ok: true, response_code: '200' },
    );
    put({ ...ANEW, send_status: 'FAILED', ...content('first') });
    await takeIn('1');
    await work();
    put({ ...ANEW, send_status: 'PENDING', ...content('second') });
    await takeIn('2');
    pass(-5_000);
    await work();
    expect(sent.map(({ attempt }) => attempt)).toEqual([1, 3]);
    expect(tables.retryLog.get('log-1#1')).toMatchObject({ retry_status: 'FAILED' });
    expect(tables.retryLog.get('log-1#3')).toMatchObject({ retry_status: 'SUCCESS' });
    expect(row()).toMatchObject({ send_status: 'SUCCESS', life: 3, send_attempts: 1, retry_count: 0 });
  });

  it('goes on with the stored content where its writer puts it anew without any', async () => {
    const { tables, put, takeIn, work, row, sent } = world(wrong);
    put({ ...ANEW, send_status: 'FAILED', ...content('first') });
    await takeIn('1');
    await work();
    put({ ...ANEW, send_status: 'FAILED', fallback_channel: 'teams' });
    await takeIn('2');
    expect(row()).toMatchObject({ life: 3, last_attempt: 3 });
    await work();
    expect(row()).toMatchObject({ successor_log_id: 'log-1-fallback-3' });
    expect(tables.content.get('log-1-fallback-3')).toMatchObject({ body: 'first' });
    expect(sent.map(({ attempt }) => attempt)).toEqual([1, 4]);
  });

  it('is decided by no event of an earlier life', async () => {
    const { tables, put, takeIn, work, row, deps } = world(() => refused('NETWORK_TIMEOUT'));
    put({ ...ANEW, send_status: 'FAILED', ...content('first') });
    await takeIn('1');
    await work();
    const event = {
      log_id: 'log-1',
      attempt: 1,
      at: iso(),
      provider_message_id: 'p',
      feedback: { kind: 'delivered' },
    } as const;
    const told = () => applyDeliveryEvent(event, { ...deps, rows: tables.eventRows });
    tables.log.set('log-1', { ...tables.log.get('log-1'), recipient_address: 'https://second.example.com/hook' });
    expect(await told()).toMatchObject({ outcome: 'ignore' });
    await takeIn('2');
    expect(await told()).toMatchObject({ outcome: 'ignore' });
    expect(row()).toMatchObject({ send_status: 'RETRY', life: 3, last_attempt: 2 });
  });

  it('is sent anew though the indexer read what replaces it only after the window of its former life', async () => {
    const { tables, put, takeIn, work, row, sent, pass } = world(() => ({ ok: true, response_code: '200' }));
    put({ ...ANEW, send_status: 'PENDING', ...content('first') });
    await takeIn('1');
    tables.log.set('log-1', { ...row(), first_attempt_at: iso(), ...content('second') });
    pass(7 * HOUR);
    expect(await work()).toMatchObject([{ held_by: { content: 'replaced' }, verdict: { status: 'RETRY' } }]);
    expect([row().failure_reason, tables.row('log-1-fallback')]).toEqual([undefined, undefined]);
    await takeIn('2');
    await work();
    expect(row()).toMatchObject({ send_status: 'SUCCESS' });
    expect(sent).toMatchObject([{ log_id: 'log-1', recipient: 'https://second.example.com/hook', body: 'second' }]);
  });
});
