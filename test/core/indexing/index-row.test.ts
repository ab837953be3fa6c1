import { describe, expect, it } from 'vitest';
import { planIndex } from '../../../src/core/indexing/index-plan.ts';
import { rowFaults } from '../../../src/core/indexing/row-rules.ts';
import { historyKeys } from '../../../src/core/model/history-index.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { describeFaults } from '../../../src/core/model/row-state.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

/** The second sample of his-notification-log-table.md, abridged: a row as BATCH-951 leaves it. */
const sample = {
  log_id: 'NL002',
  tenant_id: 'TENANT001',
  notification_id: 'NOTIF002',
  notification_type: 'SLACK',
  recipient_type: 'CHANNEL',
  recipient_address: '#notifications',
  subject: null,
  message_body: ':warning: *目標期限のお知らせ* :warning:',
  message_format: 'MARKDOWN',
  send_status: 'FAILED',
  send_attempts: 3,
  max_retry_count: 3,
  scheduled_at: '2025-06-01 09:00:00',
  response_code: '404',
  error_details: '{"error":"channel_not_found"}',
  integration_config_id: 'IC001',
  priority_level: 'HIGH',
};
const HOUR = 3_600_000;
const index = (row: Record<string, unknown>) => planIndex(row, T0, DEFAULT_RETRY_POLICY);

describe('the plan for a row', () => {
  const planned = (changes: Record<string, unknown>) => {
    const plan = index({ ...sample, ...changes });
    if (plan.do !== 'index') throw new Error(`expected to index it: ${plan.do}`);
    return plan;
  };

  it.each([
    [{ send_status: 'PENDING', send_attempts: 0 }, -1],
    [{ send_status: 'FAILED', send_attempts: 0 }, 0],
    [{ send_attempts: 3 }, 2],
    [{ send_attempts: 3, last_attempt: 7 }, 7],
    [{ send_attempts: 3, last_attempt: 1 }, 2],
  ])('continues the numbers of attempts: %j', (changes, last_attempt) => {
    expect(planned(changes).set).toMatchObject({ last_attempt });
  });

  it('sets it aside, its content sealed, where the stage does not have its channel', () => {
    expect(planIndex(sample, T0, DEFAULT_RETRY_POLICY, { channels: ['email', 'webhook'] })).toMatchObject({
      do: 'set_aside',
      why: 'channel breaks channels of the stage: expected one of email, webhook',
      set: { send_status: 'FAILED', failure_reason: 'FORMAT_ERROR' },
      content: { recipient: '#notifications' },
    });
    expect(planIndex(sample, T0, DEFAULT_RETRY_POLICY, { channels: ['slack'] })).toMatchObject({ do: 'index' });
  });

  it('files it by the time that its writer created it, else by now', () => {
    const created = planned({ created_at: '2025-06-01T08:00:00Z' }).set;
    expect(created['tenant_created_at']).toBe('TENANT001#2025-06-01T08:00:00.000Z');
    expect(created['history_bucket']).toMatch(/^2025-06-01#/);
    expect(planned({ created_at: null }).set['tenant_created_at']).toBe(`TENANT001#${iso()}`);
  });

  it.each([
    ['a subject', 'Hello', { subject: 'Hello' }],
    ['an empty subject', '', {}],
    ['no subject', null, {}],
  ])('keeps %s with the content', (_, subject, expected) => {
    const { content, remove } = planned({ subject });
    expect(Object.fromEntries(Object.entries(content ?? {}).filter(([name]) => name === 'subject'))).toEqual(expected);
    expect(remove).toContain('subject');
  });
});

describe('a row that was never attempted', () => {
  const pending = { ...sample, send_status: 'PENDING', send_attempts: 0, priority: 'normal' };
  const windowOf = (row: Record<string, unknown>) => {
    const plan = index(row);
    return plan.do === 'index' ? plan.set['first_attempt_at'] : plan.do;
  };

  it.each([
    ['a scheduled time that has passed', { scheduled_at: iso(-8 * HOUR) }, iso(-8 * HOUR)],
    ['a scheduled time to come', { scheduled_at: iso(HOUR) }, iso(HOUR)],
    ['no scheduled time', { scheduled_at: null }, undefined],
    [
      'a first attempt that its writer counts otherwise',
      { scheduled_at: iso(-8 * HOUR), first_attempt_at: iso(-HOUR) },
      iso(-HOUR),
    ],
  ])('expires a window after its scheduled time: %s', (_, times, start) => {
    expect(windowOf({ ...pending, ...times })).toBe(start);
  });

  it('is the only one that the scheduled time can expire', () => {
    expect(windowOf({ ...sample, scheduled_at: iso(-8 * HOUR) })).toBe(iso());
  });
});

describe('times without a zone', () => {
  const row = {
    ...sample,
    send_status: 'PENDING',
    send_attempts: 0,
    created_at: '2030-01-01 08:00:00',
    scheduled_at: '2030-01-01 09:00:00',
    sent_at: '2030-01-01T00:00:00Z',
    delivered_at: '2030-01-01 09:00:05',
    opened_at: '2030-01-01 09:00:10',
  };
  const set = (time_zone?: string) => {
    const plan = planIndex(row, T0, DEFAULT_RETRY_POLICY, { time_zone });
    return plan.do === 'index' ? plan.set : plan;
  };

  it('are read in UTC unless the stage says otherwise, and stay as they are', () => {
    expect(set()).toMatchObject({
      work_at: '2030-01-01T09:00:00.000Z',
      history_bucket: expect.stringMatching('2030-01-01'),
    });
    expect(Object.keys(set())).not.toContain('scheduled_at');
  });

  it('are read in the stage’s zone, and kept in UTC for whoever reads them next', () => {
    expect(set('Asia/Tokyo')).toMatchObject({
      work_at: '2030-01-01T00:00:00.000Z',
      scheduled_at: '2030-01-01T00:00:00.000Z',
      created_at: '2029-12-31T23:00:00.000Z',
      delivered_at: '2030-01-01T00:00:05.000Z',
      opened_at: '2030-01-01T00:00:10.000Z',
      tenant_created_at: 'TENANT001#2029-12-31T23:00:00.000Z',
    });
    expect(Object.keys(set('Asia/Tokyo'))).not.toContain('sent_at');
  });

  it('go where another life begins, and are not written anew', () => {
    const plan = planIndex(row, T0, DEFAULT_RETRY_POLICY, { time_zone: 'Asia/Tokyo', life: 3 });
    const { set: changed, remove } = plan as Extract<typeof plan, { set: object }>;
    expect(remove).toEqual(expect.arrayContaining(['delivered_at', 'opened_at']));
    expect(Object.keys(changed).filter((column) => remove.includes(column))).toEqual([]);
  });
});

describe('a failure_reason', () => {
  const given = { ...sample, failure_reason: 'EXPIRED' };

  it.each([
    ['of no meaning to us', { failure_reason: 'mailbox full' }],
    ['that we know, on a row that was never ours', {}],
    ['of ours, on a row that its writer has corrected since', { failure_reason: 'FORMAT_ERROR', updated_by: 'user-1' }],
  ])('%s does not keep a row out', (_, changes) => {
    expect(index({ ...given, ...changes })).toMatchObject({
      do: 'index',
      set: { updated_by: 'notification-retry' },
      remove: expect.arrayContaining(['failure_reason']),
    });
  });

  it.each([
    ['that we wrote', { updated_by: 'notification-retry' }],
    ['of a row that was in the work index', { work_at: iso(), updated_by: 'user-1' }],
  ])('%s does', (_, changes) => {
    const plan = index({ ...given, ...changes });
    expect(plan).toMatchObject({ do: 'history', remove: expect.arrayContaining(['recipient_address']) });
    expect(plan.do !== 'ignore' && [...plan.remove, ...Object.keys(plan.set)]).not.toContain('failure_reason');
  });
});

describe('content that its writer puts into a row that was taken in', () => {
  const { recipient_address, message_body, subject, message_format, ...moved } = sample;
  const content = { recipient_address, message_body, subject, message_format };
  const taken = {
    ...moved,
    history_bucket: '2026-02-01#1',
    expires_at: 1_900_000_000,
    updated_by: 'notification-retry',
  };
  const gone = ['recipient_address', 'subject', 'message_body', 'message_format'];
  const corrected = { do: 'history', set: { expires_at: taken.expires_at }, content: { recipient: '#notifications' } };

  it.each<[string, object, object?]>([
    ['is delivered', { send_status: 'SUCCESS' }, { begins: true }],
    ['was given up', { failure_reason: 'INVALID_RECIPIENT', work_at: iso() }],
    [
      'was given up, and another program changed last',
      { failure_reason: 'EXPIRED', work_at: 'x', updated_by: 'user-1' },
    ],
    ['was cancelled', { failure_reason: 'CANCELLED', work_at: iso() }],
    ['is deleted', { is_deleted: true }],
  ])('leaves one that %s, which stays as it was', (_, state, more) => {
    expect(index({ ...taken, ...state, ...content })).toEqual({
      ...corrected,
      ...more,
      content: expect.objectContaining(corrected.content),
      remove: gone,
    });
    expect(index({ ...taken, ...state })).toEqual({ do: 'ignore' });
  });

  it('leaves a delivered row in the work index that owes its record', () => {
    const owing = { send_status: 'SUCCESS', record_due: '{}', work_queue: 'due#important#1', work_at: iso() };
    const plan = index({ ...taken, channel: 'slack', priority: 'important', ...owing, ...content });
    expect(plan).toMatchObject({ ...corrected, remove: gone });
  });

  it.each([
    ['waits for its retry', { send_status: 'RETRY' }],
    ['is dead', { work_queue: 'dead#important#1', failure_reason: 'MAX_RETRIES' }],
  ])('brings back one that %s', (_, state) => {
    const indexed = { channel: 'slack', priority: 'important', attempts_left: 1, last_attempt: 2 };
    const work = { work_queue: 'due#important#1', work_at: iso() };
    expect(index({ ...taken, ...indexed, ...work, ...state, ...content })).toMatchObject({
      do: 'index',
      set: { work_queue: expect.stringMatching('due#'), send_attempts: 3 },
      remove: expect.arrayContaining(gone),
    });
  });

  it.each([
    ['the note of a message for its former time', { send_status: 'RETRY', queued_for: '10:40:00' }],
    ['the letter of its death', { failure_reason: 'AUTH_FAILED', dead_message_id: 'm', dead_run_id: 'r' }],
  ])('takes %s away', (_, before) => {
    const work = { work_queue: 'dead#important#1', work_at: iso() };
    const plan = index({ ...taken, channel: 'slack', priority: 'important', ...work, ...before, ...content });
    const gone = Object.keys(before).filter((column) => column !== 'send_status');
    expect(plan).toMatchObject({ do: 'index', remove: expect.arrayContaining(gone) });
  });

  it('waits while a worker has the row: what becomes of the attempt shows it again', () => {
    const claimed = { send_status: 'SENDING', work_queue: 'due#important#1', work_at: iso() };
    expect(index({ ...taken, ...claimed, ...content })).toEqual({ do: 'ignore' });
  });

  it('corrects a row that was set aside before any attempt, with its reason still there', () => {
    const aside = { ...taken, failure_reason: 'FORMAT_ERROR' };
    expect(index({ ...aside, ...content })).toMatchObject({
      do: 'index',
      remove: expect.arrayContaining(['failure_reason', ...gone]),
    });
    expect(index({ ...aside, ...content, notification_type: 'FAX' })).toMatchObject({ ...corrected, remove: gone });
    expect(index({ ...aside, ...content, message_body: 7 })).toEqual({ do: 'ignore' });
    expect(index({ ...aside, ...content, tenant_id: 7 })).toEqual({ do: 'ignore' });
  });

  it('is left in a delivered row if it cannot be stored, without a write that brings it again', () => {
    expect(index({ ...taken, ...content, send_status: 'SUCCESS', message_body: 7 })).toEqual({ do: 'ignore' });
  });
});

describe('a row that its writer put into the work index', () => {
  const { recipient_address: _, message_body: _1, subject: _2, message_format: _3, ...without } = sample;
  const keys = {
    channel: 'slack',
    priority: 'important',
    attempts_left: 1,
    last_attempt: 2,
    work_queue: workQueueOf('due', 'important', sample.log_id),
    work_at: iso(),
  };

  it('is taken in like any other while it still has its content', () => {
    expect(index({ ...sample, ...keys, work_queue: 'due#urgent#99', work_at: 'soon' })).toMatchObject({
      do: 'index',
      set: { work_queue: keys.work_queue, work_at: iso() },
    });
  });

  it('stays there if it is like one of ours', () => expect(index({ ...without, ...keys })).toEqual({ do: 'ignore' }));

  it.each([
    ['work_queue', 'due#everything'],
    ['work_at', 'soon'],
    ['attempts_left', undefined],
    ['last_attempt', '2'],
    ['delivery_by_attempt', 'delivered'],
  ])('leaves it when its %s is malformed', (column, value) => {
    expect(index({ ...without, ...keys, [column]: value })).toMatchObject({
      do: 'set_aside',
      why: expect.stringContaining(`${column} breaks`),
      remove: expect.arrayContaining(['work_queue']),
    });
  });
});

describe('a row of another writer', () => {
  it('enters the work index, and its content is moved out', () => {
    expect(index(sample)).toMatchObject({
      do: 'index',
      set: {
        channel: 'slack',
        priority: 'important',
        send_attempts: 3,
        attempts_left: 1,
        retry_count: 2,
        last_attempt: 2,
        work_at: iso(),
        first_attempt_at: iso(),
        work_queue: expect.stringMatching(/^due#important#\d$/),
      },
      remove: ['recipient_address', 'subject', 'message_body', 'message_format', 'response_message', 'error_details'],
      content: {
        recipient: '#notifications',
        format: 'MARKDOWN',
        body: sample.message_body,
        error_details: '{"error":"channel_not_found"}',
      },
    });
  });

  it('without an integration keeps the host of its recipient, by which a breaker identifies the provider', () => {
    const { integration_config_id: _, ...without } = sample;
    const hook = { ...without, recipient_address: 'https://hooks.example.com/services/secret' };
    expect(index(hook)).toMatchObject({ set: { provider_host: 'hooks.example.com' } });
    expect(index({ ...hook, integration_config_id: 'IC001' })).not.toHaveProperty('set.provider_host');
    expect(index(without)).not.toHaveProperty('set.provider_host');
    const earlier = { provider_host: 'hooks.example.com' };
    expect(index({ ...without, ...earlier })).toMatchObject({ remove: expect.arrayContaining(['provider_host']) });
    expect(index({ ...hook, ...earlier, recipient_address: 'https://b.example.com/x' })).toMatchObject({
      set: { provider_host: 'b.example.com' },
    });
  });

  it('stores its fallback recipient with the content, and keeps only the fallback channel in the row', () => {
    const plan = index({
      ...sample,
      fallback_channel: 'email',
      fallback_recipient: 'yamada@example.com',
      fallback_integration_config_id: 'IC009',
    });
    expect(plan).toMatchObject({
      do: 'index',
      remove: expect.arrayContaining(['fallback_recipient', 'fallback_integration_config_id']),
      content: { fallback: { recipient: 'yamada@example.com', integration_config_id: 'IC009' } },
    });
  });

  it.each([
    ['an unknown channel', { fallback_channel: 'fax', fallback_recipient: 'x' }, 'fallback_channel'],
    ['no recipient', { fallback_channel: 'email' }, 'fallback_recipient'],
    ['no channel', { fallback_recipient: 'yamada@example.com' }, 'fallback_channel'],
    ['a recipient that is too long', { fallback_channel: 'email', fallback_recipient: 'x'.repeat(501) }, 'fallback_r'],
  ])('is set aside when its fallback has %s', (_, changes, column) => {
    expect(index({ ...sample, ...changes })).toMatchObject({ do: 'set_aside', why: expect.stringContaining(column) });
  });

  it.each([
    ['next_retry_at in the future', { next_retry_at: iso(60_000) }, at(60_000)],
    ['next_retry_at in the past', { next_retry_at: iso(-60_000) }, T0],
    ['no next_retry_at', {}, T0],
    [
      'a first send scheduled for later',
      { send_status: 'PENDING', send_attempts: 0, scheduled_at: iso(90_000) },
      at(90_000),
    ],
  ])('with %s is due at the right time', (_, changes, due) => {
    expect(index({ ...sample, ...changes })).toMatchObject({ set: { work_at: due.toISOString() } });
  });

  it.each([
    [{ send_status: 'PENDING' }, { send_attempts: 0, last_attempt: -1, retry_count: 0 }],
    [{ send_status: 'FAILED' }, { send_attempts: 1, last_attempt: 0, retry_count: 0 }],
    [
      { send_status: 'FAILED', retry_count: 2 },
      { send_attempts: 3, last_attempt: 2, retry_count: 2 },
    ],
    [
      { send_status: 'FAILED', send_attempts: 0 },
      { send_attempts: 1, last_attempt: 0, retry_count: 0 },
    ],
    [
      { send_status: 'RETRY', send_attempts: 0, last_attempt: 0 },
      { send_attempts: 0, last_attempt: 0, retry_count: 0 },
    ],
    [
      { send_status: 'RETRY', send_attempts: 2 },
      { send_attempts: 2, last_attempt: 1, retry_count: 1 },
    ],
  ])('with %o has made %o', (given, expected) => {
    const { send_attempts: _, send_status: __, ...rest } = sample;
    expect(index({ ...rest, max_retry_count: 9, ...given })).toMatchObject({ do: 'index', set: expected });
  });

  it('gets the limit of its priority when it has no limit itself', () => {
    const { max_retry_count: _, ...rest } = sample;
    expect(index({ ...rest, priority: 'urgent', send_attempts: 1 })).toMatchObject({ set: { attempts_left: 10 } });
  });

  it('is spread over as many partitions as its stage has', () => {
    const shards = { work: 64, history: 64 };
    const all = Array.from({ length: 2_000 }, (_, i) =>
      planIndex({ ...sample, log_id: `log-${i}` }, T0, DEFAULT_RETRY_POLICY, { shards }),
    ).map((plan) => (plan.do === 'index' ? plan.set : {}));
    for (const key of ['work_queue', 'history_bucket', 'notification_key']) {
      expect(new Set(all.map((set) => set[key])).size).toBe(64);
    }
  });

  it('whose keys lie where no sweep looks yet moves to where one does, and stays where one does', () => {
    const indexed = { ...dueRow(), work_queue: 'due#normal#20' };
    expect(index({ ...indexed })).toEqual({
      do: 'index',
      set: { work_queue: workQueueOf('due', 'normal', indexed.log_id) },
      remove: [],
    });
    const shards = { work: 21, history: 4 };
    expect(planIndex({ ...indexed }, T0, DEFAULT_RETRY_POLICY, { shards })).toEqual({ do: 'ignore' });
    expect(index({ ...indexed, work_queue: 'due#normal#64' })).toMatchObject({ do: 'set_aside' });
  });

  it('that is delivered only becomes findable', () => {
    expect(index({ ...sample, send_status: 'SUCCESS' })).toMatchObject({
      do: 'history',
      set: { history_bucket: expect.any(String), notification_key: expect.stringMatching(/^[\w-]{8}#[0-7]$/) },
      remove: expect.arrayContaining(['recipient_address']),
    });
  });

  it('is not found by the key of the same notification_id of another tenant', () => {
    const keyOf = (tenant_id: string) => historyKeys({ ...sample, tenant_id }, T0).notification_key;
    expect(keyOf('tenant-1')).not.toBe(keyOf('tenant-2'));
    expect(keyOf('tenant-1')).toBe(keyOf('tenant-1'));
  });

  it.each([
    ['is two years old when it comes', { created_at: '2023-01-01T00:00:00.000Z' }, T0],
    ['says no time of creation', { created_at: undefined }, T0],
    ['waits for a time to come', { next_retry_at: '2029-01-01T00:00:00.000Z' }, new Date('2029-01-01T00:00:00.000Z')],
    [
      'is scheduled for a time to come',
      { scheduled_at: '2029-01-01T00:00:00.000Z' },
      new Date('2029-01-01T00:00:00.000Z'),
    ],
    ['was created after our time', { created_at: '2027-01-01T00:00:00.000Z' }, new Date('2027-01-01T00:00:00.000Z')],
  ])('does not expire while it is due when it %s', (_, given, from) => {
    const { scheduled_at: _1, ...rest } = sample;
    const plan = index({ ...rest, ...given });
    expect(plan).toMatchObject({ do: 'index', set: { expires_at: from.getTime() / 1000 + 730 * 86_400 } });
  });

  it('that was delivered long ago expires two years after its creation', () => {
    const plan = index({ ...sample, send_status: 'SUCCESS', created_at: '2023-01-01T00:00:00.000Z' });
    expect(plan).toMatchObject({ set: { expires_at: Date.parse('2023-01-01T00:00:00.000Z') / 1000 + 730 * 86_400 } });
  });

  it('that is delivered stays delivered, whatever rules it breaks', () => {
    const plan = index({
      ...sample,
      send_status: 'SUCCESS',
      send_attempts: 9,
      sent_at: '2025/06/01',
      message_body: undefined,
    });
    expect(plan).toMatchObject({ do: 'history', remove: [] });
    expect(plan.do !== 'ignore' && plan.set).not.toHaveProperty('send_status');
  });

  it('that is logically deleted gets no work, but its recipient does not stay in the clear, nor for ever', () => {
    const plan = index({ ...sample, is_deleted: true, work_queue: 'due#normal#1', work_at: iso() });
    const { content } = index(sample) as { readonly content?: unknown };
    expect(content).toBeDefined();
    expect(plan).toMatchObject({ do: 'history', content });
    expect(plan.do !== 'ignore' && plan.remove).toEqual(
      expect.arrayContaining(['recipient_address', 'message_body', 'work_queue', 'work_at']),
    );
    const set = plan.do === 'ignore' ? {} : plan.set;
    expect(set['expires_at']).toBeTypeOf('number');
    // The stream passes a later change of its writer, who leaves this as it is.
    expect(set['updated_by']).toBe('unknown');
    expect(Object.keys(set).filter((name) => /^(work_|send_status|failure_reason)/.test(name))).toEqual([]);
  });

  it('that is logically deleted is left alone where its content has moved already', () => {
    const { recipient_address: _, message_body: _1, subject: _2, message_format: _3, ...moved } = sample;
    expect(index({ ...moved, is_deleted: true })).toEqual({ do: 'ignore' });
    expect(index({ ...moved, is_deleted: true, work_queue: 'due#normal#1' })).toEqual({ do: 'ignore' });
  });
});

describe('a column that the table document wants in every row', () => {
  const columnsOf = (changes: Record<string, unknown>) => {
    const plan = index({ ...sample, ...changes });
    const { is_deleted, created_at, created_by } = plan.do === 'ignore' ? {} : plan.set;
    return { is_deleted, created_at, created_by };
  };

  it.each([
    ['left out', {}],
    ['NULL', { is_deleted: null, created_at: null, created_by: null }],
  ])('is filled when the row is taken in with it %s', (_, changes) => {
    const filled = { is_deleted: false, created_at: iso(), created_by: 'unknown' };
    expect(columnsOf(changes)).toEqual(filled);
    expect(columnsOf({ ...changes, send_status: 'SUCCESS' })).toEqual(filled);
    expect(columnsOf({ ...changes, updated_by: 'BATCH-951' })).toMatchObject({ created_by: 'BATCH-951' });
  });

  it('is filled in a row that needs no work, too', () => {
    const of = (changes: object) => index({ ...sample, send_status: 'SUCCESS', ...changes }) as { set: object };
    expect(of({ created_by: 'user-1' }).set).toMatchObject({ updated_at: iso(), updated_by: 'user-1' });
    expect(of({ updated_at: iso(), updated_by: 'user-2' }).set).not.toHaveProperty('updated_by');
  });

  it.each([
    [{ priority_level: undefined }, 'MEDIUM'],
    [{ priority_level: null, priority: 'info' }, 'LOW'],
    [{ priority_level: 'MEDIUM', priority: 'urgent' }, 'HIGH'],
    [{ priority_level: 'LOW' }, undefined],
    [{ priority_level: 'HIGH', priority: 'important' }, undefined],
  ])('its level of priority agrees with its priority: %j', (changes, level) => {
    expect(index({ ...sample, ...changes })).toMatchObject({ do: 'index' });
    expect((index({ ...sample, ...changes }) as { set: Record<string, unknown> }).set['priority_level']).toBe(level);
  });

  it('stays as its writer filled it', () => {
    const given = { is_deleted: false, created_at: '2026-02-01 09:00:00', created_by: 'user-1' };
    expect(Object.values(columnsOf(given))).toEqual([undefined, undefined, undefined]);
  });
});

describe('a row that another writer left SENDING', () => {
  const sending = { ...sample, send_status: 'SENDING', send_attempts: 0, scheduled_at: null };
  const since = (ms: number) => ({ ...sending, created_at: iso(-30 * HOUR), updated_at: iso(ms) });

  it('is left to it for an hour after its last change, or the time that it was to be sent', () => {
    expect(index(since(-HOUR + 1))).toEqual({ do: 'ignore' });
    expect(index({ ...since(-5 * HOUR), scheduled_at: iso(-HOUR + 1) })).toEqual({ do: 'ignore' });
  });

  it('is then taken in as claimed by a worker that died, whose attempt is number 0', () => {
    const plan = index(since(-HOUR));
    expect(plan).toMatchObject({
      do: 'index',
      set: {
        send_attempts: 1,
        last_attempt: 0,
        work_queue: expect.stringMatching(/^due#/),
        expires_at: expect.any(Number),
      },
      remove: expect.arrayContaining(['recipient_address']),
    });
    expect(plan.do !== 'ignore' && plan.set).not.toHaveProperty('send_status');
  });

  it('and that has no time gets one, from which the hour is counted', () => {
    const { scheduled_at: _, ...timeless } = sending;
    expect(index(timeless)).toEqual({ do: 'wait', set: { created_at: iso() }, remove: [] });
    expect(index({ ...timeless, created_at: iso() })).toEqual({ do: 'ignore' });
  });

  it('is none of those that a worker of ours has', () => {
    expect(index({ ...since(-30 * HOUR), work_queue: 'due#important#1', work_at: iso() })).toEqual({ do: 'ignore' });
  });
});

describe('a row in the work index that its writer has spoilt', () => {
  const due = { ...dueRow(), max_retry_count: 'many' };

  it('is set aside, and keeps nothing that would give up the corrected one', () => {
    const remove = ['work_queue', 'work_at', 'next_retry_at', 'give_up'];
    const spoilt = { ...due, give_up: 'INVALID_RECIPIENT', next_retry_at: due.work_at };
    expect(index(spoilt)).toMatchObject({ do: 'set_aside', remove });
  });

  it('stays while it is sent, where a sweep meets it', () => {
    const sending = { ...due, send_status: 'SENDING' };
    expect(index(sending)).toEqual({ do: 'ignore' });
    const place = { work_queue: workQueueOf('due', due.priority, due.log_id), work_at: iso() };
    for (const spoilt of [{ work_queue: 'nowhere' }, { work_at: 'soon' }])
      expect(index({ ...sending, ...spoilt })).toEqual({ do: 'index', set: place, remove: [] });
  });
});

describe('a malformed row', () => {
  it.each([
    ['notification_type', { notification_type: 'FAX' }, 'chk_notification_log_type'],
    ['recipient_type', { recipient_type: 'CAT' }, 'chk_notification_log_recipient_type'],
    ['message_format', { message_format: 'RTF' }, 'chk_notification_log_format'],
    ['send_status', { send_status: 'LOST' }, 'chk_notification_log_status'],
    ['priority_level', { priority_level: 'TOP' }, 'chk_notification_log_priority'],
    ['send_attempts', { send_attempts: -1 }, 'chk_notification_log_attempts_positive'],
    ['max_retry_count', { max_retry_count: -1 }, 'chk_notification_log_attempts_positive'],
    ['send_attempts', { send_attempts: 5 }, 'chk_notification_log_attempts_limit'],
    ['tenant_id', { tenant_id: undefined }, 'NOT NULL'],
    ['recipient_address', { recipient_address: '' }, 'NOT NULL'],
    ['message_body', { message_body: undefined }, 'NOT NULL'],
    ['notification_id', { notification_id: 'x'.repeat(51) }, 'VARCHAR(50)'],
    ['subject', { subject: 'x'.repeat(501) }, 'VARCHAR(500)'],
    ['next_retry_at', { next_retry_at: 'tomorrow' }, 'TIMESTAMP'],
    ['next_retry_at', { next_retry_at: '9999-12-31T23:59:59-05:00' }, 'TIMESTAMP'],
    ['retry_count', { retry_count: 1.5 }, 'INTEGER'],
    ['channel', { channel: 'email' }, 'channel = notification_type'],
    ['is_deleted', { is_deleted: 'true' }, 'BOOLEAN'],
  ])('with a wrong %s is set aside, with column and rule named: %o', (column, change, rule) => {
    const plan = index({ ...sample, ...change });
    expect(plan).toMatchObject({
      do: 'set_aside',
      set: { send_status: 'FAILED', error_type: 'FORMAT_ERROR', failure_reason: 'FORMAT_ERROR' },
    });
    expect(plan.do === 'set_aside' && plan.why).toContain(`${column} breaks ${rule}`);
  });

  it('has its content moved out too, unless the content is faulty', () => {
    expect(index({ ...sample, notification_type: 'FAX' })).toMatchObject({
      do: 'set_aside',
      content: { recipient: '#notifications' },
    });
    expect(index({ ...sample, subject: 'x'.repeat(501) })).toMatchObject({ do: 'set_aside', remove: [] });
  });

  it.each([
    ['has no next time, also where times are written anew in UTC', { next_retry_at: '2026-03-01 19:00:00' }, true],
    ['keeps it for its writer if that is what is wrong', { next_retry_at: 'tomorrow' }, false],
  ])('%s', (_, change, removed) => {
    const row = { ...sample, notification_type: 'FAX', ...change };
    const plan = planIndex(row, T0, DEFAULT_RETRY_POLICY, { time_zone: 'Asia/Tokyo' });
    const { set, remove } = plan as Extract<typeof plan, { set: object }>;
    expect([set['next_retry_at'], remove.includes('next_retry_at')]).toEqual([undefined, removed]);
  });

  it('gets a description of all its faults, without any value', () => {
    const text = describeFaults(rowFaults({ ...sample, notification_type: 'secret-1', send_status: 'secret-2' }));
    expect(text).toMatch(/notification_type.*send_status/);
    expect(text).not.toMatch(/secret/);
  });
});
