import { describe, expect, it } from 'vitest';
import { claimedByForce, claimedByRedrive } from '../../../src/core/delivery/transitions/claims.ts';
import { CANCELLATION, GIVEN_UP, revival } from '../../../src/core/delivery/transitions/without-attempt.ts';
import { indexRow } from '../../../src/core/indexing/index-row.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { type RowChange, withChange } from '../../../src/core/model/row-change.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { toldOf } from '../../support/outcomes.ts';
import { dueRow, iso, T0 } from '../../support/rows.ts';

const ours = { updated_by: 'notification-retry', updated_at: iso(5_000) };
const sent_at = iso(4_000);
const delivered = dueRow({ ...ours, send_status: 'SUCCESS', last_attempt: 2, send_attempts: 3, sent_at });
const { work_queue: _, ...withoutWork } = delivered;
const deadQueue = workQueueOf('dead', 'normal', 'log-1');
const dead = dueRow({
  ...ours,
  send_status: 'FAILED',
  failure_reason: 'MAX_RETRIES',
  error_type: 'SERVER_OVERLOAD',
  work_queue: deadQueue,
  work_at: iso(3_000),
  last_attempt: 5,
  send_attempts: 6,
});

const ADDRESS = 'ann@example.com';
const kindsOf = (row: object) => toldOf({ ...row }).map(({ kind }) => kind);
const idsOf = (row: object) => toldOf({ ...row }).map(({ detail }) => detail.event_id);
const changed = (row: NotificationRow, change: RowChange) => withChange(row, change);

describe('an image of a row', () => {
  it.each<[string, object, readonly string[]]>([
    ['is due', dueRow(), []],
    ['is sent', dueRow({ send_status: 'SENDING', claim_until: iso(65_000) }), []],
    ['waits for its retry', dueRow({ send_status: 'RETRY', error_type: 'SERVER_OVERLOAD' }), []],
    ['is delivered', withoutWork, ['Notification Delivered']],
    ['is delivered, and owes its record', { ...delivered, record_due: '{}' }, ['Notification Delivered']],
    ['is dead', dead, ['Notification Given Up']],
    ['is cancelled', { ...changed(dueRow(), CANCELLATION), ...ours }, ['Notification Given Up']],
    ['was dropped from the DLQ', changed(dead, GIVEN_UP), ['Notification Given Up']],
    [
      'is set aside as malformed',
      { log_id: 'x', send_status: 'FAILED', failure_reason: 'FORMAT_ERROR', ...ours },
      ['Notification Given Up'],
    ],
    ['was delivered by its writer', { log_id: 'x', tenant_id: 't', send_status: 'SUCCESS' }, []],
    [
      'failed, and its writer gave a reason',
      { log_id: 'x', send_status: 'FAILED', failure_reason: 'SPAM', ...ours },
      [],
    ],
    [
      'failed, with a reason of ours that its writer wrote',
      { log_id: 'x', send_status: 'FAILED', failure_reason: 'EXPIRED' },
      [],
    ],
    [
      'is forced once more',
      changed(dead, claimedByForce(dead, { now: T0, until: sent_at, by: 'c' }, { left: 0, counted: false })),
      [],
    ],
    ['is redriven', changed(dead, claimedByRedrive(dead, { now: T0, until: sent_at, by: 'c' }, 5)), []],
    ['is retried by an operator', changed(dead, revival(dead, T0, DEFAULT_RETRY_POLICY)), []],
    [
      'came back, and is retried',
      dueRow({ send_status: 'RETRY', bounced_at: sent_at, delivery_by_attempt: { 0: 'soft_bounced' } }),
      ['Notification Bounced'],
    ],
    [
      'came back after an attempt that arrived',
      { ...withoutWork, bounced_at: sent_at, delivery_by_attempt: { 1: 'bounced', 2: 'delivered' } },
      ['Notification Bounced', 'Notification Delivered'],
    ],
    [
      'was opened after all',
      { ...withoutWork, bounced_at: sent_at, delivery_by_attempt: { 2: 'seen' } },
      ['Notification Delivered'],
    ],
  ])('that %s', (_, row, kinds) => expect(kindsOf(row)).toEqual(kinds));

  it('tells ids and states, and nothing else that its writer put there', () => {
    const row = {
      ...dead,
      notification_id: 'n-1',
      recipient_address: 'ann@example.com',
      subject: 's',
      message_body: 'b',
    };
    expect(toldOf({ ...row, successor_log_id: 'log-1-fallback' })[0]?.detail).toEqual({
      version: 1,
      event_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      at: dead.work_at,
      log_id: 'log-1',
      tenant_id: 'tenant-1',
      notification_id: 'n-1',
      channel: 'webhook',
      priority: 'normal',
      attempts: 6,
      status: 'FAILED',
      failure_reason: 'MAX_RETRIES',
      error_type: 'SERVER_OVERLOAD',
      successor_log_id: 'log-1-fallback',
    });
  });

  it('goes on with the trace of its producer, from the attempt that it tells of', () => {
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const traceOf = (row: object) => toldOf({ ...row, traceparent: trace })[0]?.detail.traceparent;
    expect(traceOf(dead)).toMatch(/^00-a{32}-(?!b{16})[0-9a-f]{16}-01$/);
    expect(traceOf(dead)).not.toBe(traceOf({ ...dead, last_attempt: 4 }));
    expect(traceOf({ ...dead, last_attempt: -1 })).toBe(trace);
    expect(toldOf({ ...dead, traceparent: 'mine' })[0]?.detail).not.toHaveProperty('traceparent');
  });

  it('says no error of an attempt before the delivery', () => {
    const [outcome] = toldOf({ ...withoutWork, error_type: 'SERVER_OVERLOAD' });
    expect(outcome?.detail).toMatchObject({ at: sent_at, status: 'SUCCESS', attempts: 3 });
    expect(outcome?.detail).not.toHaveProperty('error_type');
  });

  it('passes on only known words where its columns have words: a writer may have put an address there', () => {
    const column = { channel: ADDRESS, priority: ADDRESS, error_type: ADDRESS };
    const bounced = { bounced_at: sent_at, delivery_by_attempt: { 0: 'bounced' } };
    const rows = [
      { ...dead, ...column },
      { ...dueRow(), ...bounced, ...column, send_status: ADDRESS, failure_reason: ADDRESS },
    ];
    const told = rows.flatMap((row) => toldOf({ ...row }));
    expect(told.map(({ kind }) => kind)).toEqual(['Notification Given Up', 'Notification Bounced']);
    expect(JSON.stringify(told)).not.toContain(ADDRESS);
  });

  it('leaves out what is no text, or too long for an id, and stays far below the limit of an entry', () => {
    const long = 'x'.repeat(300_000);
    const [outcome] = toldOf({ ...dead, tenant_id: long, notification_id: 7, error_type: { a: 1 }, priority: '' });
    expect(outcome?.detail).not.toHaveProperty('tenant_id');
    expect(JSON.stringify(outcome).length).toBeLessThan(1_000);
  });
});

describe('event_id', () => {
  it('is the same for later writes of the row', () => {
    expect(idsOf({ ...withoutWork, opened_at: sent_at, delivery_by_attempt: { 2: 'seen' } })).toEqual(idsOf(delivered));
    expect(idsOf(changed(dead, GIVEN_UP))).toEqual(idsOf(dead));
  });

  it('is another one for each turn of the row, and the same for one turn whatever else changes', () => {
    const ended = { ...dead, turn: 'a1' };
    expect(idsOf({ ...ended, redrive_count: 3, bounced_at: sent_at, updated_at: iso(9_000) })).toEqual(idsOf(ended));
    const others = [dead, { ...ended, turn: 'b2' }, { ...ended, last_attempt: 6 }, { ...withoutWork, turn: 'a1' }];
    expect(new Set([ended, ...others].flatMap(idsOf)).size).toBe(5);
  });

  it('of a row that is set aside, corrected wrongly by a put, and set aside again is another one', async () => {
    const tables = new MemoryTables(() => T0);
    const wrong = { log_id: 'log-1', tenant_id: 'tenant-1', notification_type: 'WEBHOOK', send_status: 'PENDING' };
    const setAside = async (row: object, sequence: string) => {
      tables.log.set('log-1', { ...row });
      const image = { row: { ...row }, sequence };
      const { outcome } = await indexRow(image, { store: tables, policy: DEFAULT_RETRY_POLICY, clock: () => T0 });
      expect(outcome).toBe('set_aside');
      return idsOf({ ...tables.log.get('log-1') });
    };
    const ids = [...(await setAside(wrong, '1')), ...(await setAside({ ...wrong, priority: 'high' }, '2'))];
    expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
  });

  it('of a row without a turn, which an earlier version has ended, is another one for each end', () => {
    const redriven = { ...dead, redrive_count: 1 };
    const again = { ...dead, last_attempt: 6 };
    const ids = [dead, redriven, again, { ...withoutWork, last_attempt: 5 }, { ...dead, log_id: 'log-2' }].flatMap(
      idsOf,
    );
    expect(new Set(ids).size).toBe(5);
  });

  it('of a delivery is another one once the same attempt has come back and was opened after all', () => {
    const before = { ...withoutWork, delivery_by_attempt: { 2: 'delivered' } };
    const bounced = dueRow({ ...before, send_status: 'RETRY', bounced_at: iso(6_000) } as never);
    const after = { ...withoutWork, bounced_at: bounced.bounced_at, delivery_by_attempt: { 2: 'seen' } };
    expect(kindsOf(after)).toEqual(kindsOf(before));
    expect(idsOf(after)).not.toEqual(idsOf(before));
    expect(idsOf({ ...after, opened_at: sent_at })).toEqual(idsOf(after));
  });

  it('of a bounce stays when an operator sends the notification again', () => {
    const bounced = { ...dueRow(), bounced_at: sent_at, delivery_by_attempt: { 0: 'bounced' } };
    expect(idsOf({ ...bounced, redrive_count: 1 })).toEqual(idsOf(bounced));
  });
});
