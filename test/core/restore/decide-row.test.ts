import { describe, expect, it } from 'vitest';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import type { Operation } from '../../../src/core/operator/operations/operation.ts';
import { NOTHING } from '../../../src/core/operator/operations/operation.ts';
import { decideRow } from '../../../src/core/restore/decide-row.ts';
import { actsSince } from '../../../src/core/restore/operator-acts.ts';
import { QUESTIONS, type Restored } from '../../../src/core/restore/restored-states.ts';
import type { OperatorAct, RestoreTerms, Survivors } from '../../../src/core/restore/survivors.ts';
import { recordFaults } from '../../../src/core/verify/rules/record-rules.ts';
import { firstAttempt, rowViolations } from '../../../src/core/verify/rules/row-rules.ts';
import { retryRecord } from '../../support/delivering.ts';
import { at, dueRow, iso } from '../../support/rows.ts';

const MINUTE = 60_000;
const NOW = 60 * MINUTE;
const ATTEMPTED = { response_code: '503', error_type: 'SERVER_OVERLOAD' } as const;

function record(attempt: number, changes: Partial<RetryRecord> = {}): RetryRecord {
  const at_minute = { retry_at: iso(attempt * 10 * MINUTE), retry_log_id: `log-1#${attempt}`, retry_attempt: attempt };
  return retryRecord({ ...at_minute, ...changes });
}

const copy = (changes: Partial<NotificationRow> = {}) =>
  dueRow({ history_bucket: '2026-03-01#0', updated_by: 'notification-retry', ...changes } as Partial<NotificationRow>);
const dead = (changes: Partial<NotificationRow> = {}) =>
  copy({
    ...{ send_status: 'FAILED', failure_reason: 'AUTH_FAILED', work_queue: 'dead#normal#3', last_attempt: 0 },
    ...{ dead_message_id: 'm-1', dead_run_id: 'sweep-0', dead_sent_at: iso(), ...changes },
  });

/** Over, and in no work index. */
function gone(changes: Partial<NotificationRow>): NotificationRow {
  const { work_queue: _, ...rest } = copy({ send_status: 'FAILED', ...changes });
  return rest;
}

interface Given extends Partial<Survivors>, Partial<RestoreTerms> {
  readonly row?: NotificationRow;
}

function decided({ row = copy(), records = [], content, successor, ...terms }: Given): Restored {
  const survivors = { records, content, ...(successor && { successor }) };
  return decideRow({ ...row }, survivors, {
    ...{
      restored_to: iso(MINUTE),
      clocks_apart_ms: 5_000,
      now: at(NOW),
      policy,
      shards: { work: 8, history: 4 },
      random: () => 0.5,
      acts: [],
    },
    ...{ records_survived: true, forgotten: new Set<string>(), ...terms },
  });
}

const FIRST = record(0);
const LIVE = { is_copy: false } as const;
const act = (changes: Partial<OperatorAct>): OperatorAct => ({
  ...{ what: 'cancel', at: iso(30 * MINUTE), until: iso(31 * MINUTE), certain: true, of: { log_ids: ['log-1'] } },
  ...changes,
});
const bulk = (changes: Partial<Operation>): OperatorAct =>
  act({
    of: {
      operation: {
        ...{
          operation_id: 'op-1',
          version: 1,
          kind: 'cancel',
          status: 'done',
          filter: { channel: 'webhook' },
          asked: {},
        },
        ...{
          rate: 1,
          include_stopped: false,
          cut_off: iso(30 * MINUTE),
          created_by: 'mori',
          created_at: iso(),
          sample: [],
        },
        ...{ checkpoint: { source: 'due' }, progress: NOTHING, ...changes },
      } as Operation,
    },
  });
/** As its writer puts it, before the indexer has taken it in. */
const { work_queue: _, work_at: __, ...UNINDEXED } = copy();
const FOREIGN = {
  ...UNINDEXED,
  notification_type: 'WEBHOOK',
  recipient_address: 'https://a.example/x',
  message_body: 'hi',
} as never;
const FALLBACK = copy({ fallback_channel: 'teams' });
const EXHAUSTED = record(1, { failure_reason: 'MAX_RETRIES', error_type: 'NETWORK_TIMEOUT' });
const successor = (its: Partial<Survivors>, row?: NotificationRow) => ({
  successor: { row, survivors: { records: [], content: LIVE, ...its } },
});
const ofSuccessor = (attempt: number, changes: Partial<RetryRecord>): RetryRecord =>
  record(attempt, {
    ...{ original_log_id: 'log-1-fallback', retry_log_id: `log-1-fallback#${attempt}`, channel: 'teams' },
    ...{ retry_at: iso(20 * MINUTE), ...changes },
  });

/** What is known → what becomes of the row, and what the row says. */
const KNOWN: readonly [what: string, given: Given, as: string, row: object][] = [
  ['nothing since: it is due now', { records: [FIRST] }, 'as_it_was', { send_status: 'FAILED', work_at: iso(NOW) }],
  ['it waits', { row: copy({ work_at: iso(2 * NOW) }), records: [FIRST] }, 'as_it_was', { work_at: iso(2 * NOW) }],
  [
    'it was delivered',
    { records: [FIRST, record(1, { retry_status: 'SUCCESS' })] },
    'delivered',
    { send_status: 'SUCCESS', last_attempt: 1, send_attempts: 2, sent_at: iso(10 * MINUTE) },
  ],
  [
    'it failed, and waited for its next retry',
    { records: [FIRST, record(1, { ...ATTEMPTED, next_retry_at: iso(90 * MINUTE) })] },
    'due_again',
    {
      send_status: 'RETRY',
      work_at: iso(90 * MINUTE),
      last_attempt: 1,
      send_attempts: 2,
      attempts_left: 4,
      error_type: 'SERVER_OVERLOAD',
    },
  ],
  [
    'its next retry is over by now',
    { records: [FIRST, record(1, { ...ATTEMPTED, next_retry_at: iso(20 * MINUTE) })] },
    'due_again',
    { work_at: iso(NOW), next_retry_at: iso(NOW) },
  ],
  [
    'it was held, which counts for nothing',
    { records: [FIRST, record(1, { retry_status: 'SKIPPED', uncounted: true, next_retry_at: iso(90 * MINUTE) })] },
    'due_again',
    { last_attempt: 1, send_attempts: 1, attempts_left: 5 },
  ],
  [
    'it died: it needs another letter',
    { records: [FIRST, record(1, { failure_reason: 'AUTH_FAILED', error_type: 'AUTH_FAILED' })] },
    'given_up_again',
    { send_status: 'RETRY', give_up: 'AUTH_FAILED', work_at: iso(NOW) },
  ],
  [
    'an attempt that was under way delivered it',
    {
      row: copy({
        send_status: 'SENDING',
        last_attempt: 1,
        send_attempts: 2,
        attempts_left: 4,
        claim_until: iso(),
        claim_id: 'c',
      }),
      records: [FIRST, record(1, { retry_status: 'SUCCESS' })],
    },
    'delivered',
    { send_status: 'SUCCESS', send_attempts: 2, last_attempt: 1 },
  ],
  [
    'the worker of an attempt crashed: a worker takes it over',
    {
      row: copy({
        send_status: 'SENDING',
        last_attempt: 1,
        send_attempts: 2,
        attempts_left: 4,
        claim_until: iso(),
        claim_id: 'c',
      }),
      records: [FIRST],
    },
    'as_it_was',
    { send_status: 'SENDING', last_attempt: 1, claim_id: 'c' },
  ],
  [
    'an event has shown that an earlier attempt arrived',
    { records: [record(0, { retry_status: 'SUCCESS', evidence: 'delivered' })] },
    'delivered',
    { send_status: 'SUCCESS', delivery_by_attempt: { 0: 'delivered' }, delivered_at: iso() },
  ],
  [
    'it was delivered before, and came back',
    {
      row: copy({ send_status: 'SUCCESS', work_queue: undefined, last_attempt: 0 } as never),
      records: [record(0, { evidence: 'bounced', error_type: 'INVALID_RECIPIENT' })],
    },
    'given_up_again',
    { send_status: 'RETRY', give_up: 'INVALID_RECIPIENT', delivery_by_attempt: { 0: 'bounced' } },
  ],
  [
    'it came back for good, after a bounce that was to be retried',
    {
      records: [
        FIRST,
        record(1, { evidence: 'bounced', error_type: 'INVALID_RECIPIENT', next_retry_at: iso(90 * MINUTE) }),
      ],
    },
    'given_up_again',
    { give_up: 'INVALID_RECIPIENT', delivery_by_attempt: { 1: 'bounced' } },
  ],
  [
    'its redrive was under way, and failed',
    {
      row: copy({
        ...{ send_status: 'SENDING', last_attempt: 1, send_attempts: 1, attempts_left: 5, redrive_count: 1 },
        ...{ claim_until: iso(), claim_id: 'c' },
      }),
      records: [FIRST, record(1, { ...ATTEMPTED, trigger: 'redrive', next_retry_at: iso(90 * MINUTE) })],
    },
    'due_again',
    { redrive_count: 1, send_attempts: 1, attempts_left: 5 },
  ],
  [
    'a dead one was redriven, and goes on',
    { row: dead(), records: [FIRST, record(1, { ...ATTEMPTED, trigger: 'redrive', next_retry_at: iso(90 * MINUTE) })] },
    'due_again',
    { send_status: 'RETRY', send_attempts: 1, attempts_left: 5, redrive_count: 1 },
  ],
  [
    'a dead one is dead, with its letter',
    { row: dead(), records: [FIRST] },
    'as_it_was',
    { failure_reason: 'AUTH_FAILED', dead_message_id: 'm-1' },
  ],
  [
    'it was cancelled',
    { records: [FIRST], acts: [act({})] },
    'cancelled',
    { send_status: 'FAILED', failure_reason: 'CANCELLED' },
  ],
  [
    'it was cancelled after it had failed',
    { records: [FIRST, record(1, { next_retry_at: iso(90 * MINUTE) })], acts: [act({})] },
    'cancelled',
    { failure_reason: 'CANCELLED', last_attempt: 1 },
  ],
  [
    'it was delivered after somebody had cancelled and retried it',
    { records: [FIRST, record(4, { retry_status: 'SUCCESS' })], acts: [act({})] },
    'delivered',
    { send_status: 'SUCCESS' },
  ],
  [
    'another one was cancelled',
    { records: [FIRST], acts: [act({ of: { log_ids: ['log-2'] } })] },
    'as_it_was',
    { send_status: 'FAILED' },
  ],
  [
    'a bulk operation cancelled it',
    { records: [FIRST], acts: [bulk({})] },
    'cancelled',
    { failure_reason: 'CANCELLED' },
  ],
  [
    'a bulk operation cancelled others',
    { records: [FIRST], acts: [bulk({ filter: { channel: 'email' } })] },
    'as_it_was',
    {},
  ],
  [
    'letters of its channel were moved: its own one redrives it, if it is there',
    { row: dead(), records: [FIRST], acts: [act({ what: 'redrive', of: { channels: ['webhook'] } })] },
    'as_it_was',
    { failure_reason: 'AUTH_FAILED', send_status: 'FAILED' },
  ],
  [
    'it was redriven itself',
    { row: dead(), records: [FIRST], acts: [act({ what: 'redrive' })] },
    'due_again',
    { send_status: 'RETRY', work_at: iso(NOW) },
  ],
  [
    'its letter was dropped',
    { row: dead(), records: [FIRST], acts: [act({ what: 'give_up', of: { channels: ['webhook'] } })] },
    'stopped',
    { failure_reason: 'AUTH_FAILED', send_status: 'FAILED' },
  ],
  [
    'it died since, and was given up',
    { records: [FIRST, record(1, { failure_reason: 'AUTH_FAILED' })], acts: [act({ what: 'give_up' })] },
    'stopped',
    { failure_reason: 'AUTH_FAILED' },
  ],
  [
    'it was given up between its last write and the copy',
    { row: dead({ updated_at: iso() }), records: [FIRST], acts: [act({ what: 'give_up', at: iso(MINUTE / 2) })] },
    'stopped',
    { failure_reason: 'AUTH_FAILED' },
  ],
  [
    'it was perhaps given up: its letter may be gone, and it gets another',
    { row: dead(), records: [FIRST], acts: [act({ what: 'give_up', certain: false })] },
    'given_up_again',
    { give_up: 'AUTH_FAILED' },
  ],
  [
    'it was perhaps redriven, and its letter dropped as one that is behind',
    { row: dead(), records: [FIRST], acts: [act({ what: 'redrive', certain: false })] },
    'given_up_again',
    { give_up: 'AUTH_FAILED' },
  ],
  [
    'it was retried after its cancellation',
    {
      records: [FIRST],
      acts: [act({ certain: false }), act({ what: 'retry', at: iso(40 * MINUTE), until: iso(41 * MINUTE) })],
    },
    'due_again',
    { send_status: 'RETRY', work_at: iso(NOW) },
  ],
  [
    'it was erased',
    { records: [FIRST], content: { is_copy: false, erased_at: iso(MINUTE) } },
    'erased',
    { is_deleted: true, erased_at: iso(MINUTE), failure_reason: 'CANCELLED' },
  ],
  [
    'it was delivered, and erased',
    { records: [FIRST, record(1, { retry_status: 'SUCCESS' })], content: { is_copy: false, erased_at: iso(MINUTE) } },
    'erased',
    { send_status: 'SUCCESS', is_deleted: true },
  ],
  [
    'it was handed on, and its successor is there',
    { row: FALLBACK, records: [FIRST, EXHAUSTED], ...successor({}, copy({ log_id: 'log-1-fallback' })) },
    'handed_on',
    { failure_reason: 'MAX_RETRIES', successor_log_id: 'log-1-fallback' },
  ],
  [
    'it was given up, and nobody had handed it on yet',
    { row: FALLBACK, records: [FIRST, EXHAUSTED], ...successor({ content: undefined }) },
    'given_up_again',
    { give_up: 'MAX_RETRIES' },
  ],
  [
    'it lived anew, and was delivered',
    { records: [FIRST, record(3, { retry_status: 'SUCCESS' })], content: { is_copy: false, life: 2 } },
    'delivered',
    { life: 2, send_status: 'SUCCESS' },
  ],
  [
    'somebody of its tenant was erased, and its own content is there',
    { records: [FIRST], content: LIVE, forgotten: new Set(['tenant-1']) },
    'as_it_was',
    {},
  ],
  [
    'it waits, and the records are lost',
    { row: copy({ work_at: iso(2 * NOW) }), records_survived: false },
    'as_it_was',
    { work_at: iso(2 * NOW) },
  ],
  ['it was over, and the records are lost', { row: dead(), records_survived: false }, 'as_it_was', {}],
];

/** What nobody knows → what is asked: the row is there, and nothing sends it. */
const UNKNOWN: readonly [what: string, given: Given, why: keyof typeof QUESTIONS][] = [
  ['it was due, and the records are lost', { records_survived: false }, 'outcome_unknown'],
  [
    'it was being sent, and the records are lost',
    { row: copy({ send_status: 'SENDING', last_attempt: 0, claim_until: iso() }), records_survived: false },
    'outcome_unknown',
  ],
  [
    'it waited, somebody had it retried, and the records are lost',
    { row: copy({ work_at: iso(2 * NOW) }), records_survived: false, acts: [act({ what: 'retry' })] },
    'outcome_unknown',
  ],
  [
    'an operator cancelled several, and some were refused',
    { records: [FIRST], acts: [act({ certain: false })] },
    'perhaps_cancelled',
  ],
  [
    'an operator cancelled it while another one retried it',
    { records: [FIRST], acts: [act({}), act({ what: 'retry', at: iso(30 * MINUTE + 1) })] },
    'perhaps_cancelled',
  ],
  [
    'an operator cancelled what it continues',
    { row: copy({ predecessor_log_id: 'log-0' }), records: [FIRST], acts: [act({ of: { log_ids: ['log-0'] } })] },
    'perhaps_cancelled',
  ],
  [
    'it was over, and an operator had several retried',
    {
      row: gone({ failure_reason: 'CANCELLED' }),
      records: [FIRST],
      acts: [act({ what: 'retry', certain: false })],
    },
    'perhaps_retried',
  ],
  [
    'it came back twice, and the second bounce hid why it was given up',
    { records: [FIRST, record(1, { evidence: 'bounced', error_type: 'UNKNOWN' })] },
    'came_back',
  ],
  [
    'a bulk cancellation did not come to its end',
    { records: [FIRST], acts: [{ ...bulk({ status: 'paused' }), certain: false }] },
    'perhaps_cancelled',
  ],
  [
    'somebody of its tenant was erased, and so its content is lost',
    { records: [FIRST], forgotten: new Set(['tenant-1']) },
    'perhaps_erased',
  ],
  [
    'somebody of its tenant was erased, and its content is a copy',
    { records: [FIRST], content: { is_copy: true }, forgotten: new Set(['tenant-1']) },
    'perhaps_erased',
  ],
  [
    'it failed, somebody of its tenant was erased, and so its content is lost',
    {
      records: [FIRST, record(1, { ...ATTEMPTED, next_retry_at: iso(90 * MINUTE) })],
      forgotten: new Set(['tenant-1']),
    },
    'perhaps_erased',
  ],
  [
    'it died, somebody of its tenant was erased, and so its content is lost',
    { row: FALLBACK, records: [FIRST, EXHAUSTED], forgotten: new Set(['tenant-1']) },
    'perhaps_erased',
  ],
  [
    'it was to be retried since, and the records of that are lost',
    {
      records: [FIRST, record(1, { ...ATTEMPTED, next_retry_at: iso(20 * MINUTE) })],
      records_survived: false,
    },
    'outcome_unknown',
  ],
  ['its writer put it anew', { records: [FIRST], content: { is_copy: false, life: 2 } }, 'put_anew'],
];

function faultsOf(row: object, records: readonly RetryRecord[]) {
  const stored = { ...row };
  return [
    ...rowViolations(stored, { shards: 8 }, at(NOW).getTime()),
    ...recordFaults(stored, records as never, firstAttempt(stored) ?? 1),
  ].map(({ rule, says }) => `${rule}: ${says}`);
}

describe('a delivered row whose writer has corrected it since', () => {
  const row = copy({ send_status: 'SUCCESS', work_queue: undefined } as never);
  const content = { is_copy: false, life: 2 };

  it('stays delivered, and its next life waits', () => {
    const found = decided({ row, records: [FIRST], content });
    expect(found).toMatchObject({ do: 'ask', row: { send_status: 'SUCCESS', next_life: 2 } });
  });

  it('is stopped where it came back before', () => {
    const found = decided({ row, records: [record(0, { evidence: 'soft_bounced' })], content });
    expect(found).toMatchObject({ do: 'ask', row: { send_status: 'FAILED', failure_reason: 'UNKNOWN', life: 2 } });
  });
});

it('knows of erasures that may have been under way at the time of the copy, and of no other act before it', () => {
  const acted = (what: string, hours: number) => ({
    ...{ audit_id: '1', at: new Date(Date.parse(iso()) - hours * 60 * MINUTE).toISOString(), who: 'mori', what },
    ...{ role: 'operator', on: ['tenant-1'], targets: 1, request_id: 'r' },
  });
  const since = (...records: readonly object[]) => actsSince(iso(), records as never, []);
  expect([...since(acted('forget', 20), acted('cancel', 20)).forgotten.keys()]).toEqual(['tenant-1']);
  expect(since(acted('forget', 20), acted('cancel', 20)).acts).toEqual([]);
  expect(since(acted('forget', 25)).forgotten.size).toBe(0);
});

it.each([
  ['done', { cancelled: 1 }, [{ certain: true }]],
  ['ended before, or by a try whose answer was lost', { ended: 1 }, [{ certain: false }]],
  ['refused', { refused: 1 }, []],
])('takes from the audit log what a cancellation says: %s', (_, result, acts) => {
  const record = {
    audit_id: '1',
    at: iso(30 * MINUTE),
    who: 'mori',
    what: 'cancel',
    role: 'operator',
    request_id: 'r',
  };
  const since = actsSince(iso(MINUTE), [{ ...record, on: ['log-1'], targets: 1, result } as never], []);
  expect(since.acts).toMatchObject(acts);
  expect(since.acts).toHaveLength(acts.length);
});

describe('a restored row', () => {
  it.each(KNOWN)('%s', (_, given, as, row) => {
    const found = decided(given);
    expect(found).toMatchObject({ do: 'put', as, row });
    if (found.do !== 'put') return;
    // Of those numbers there are no others here.
    const gaps = given.records?.some(({ retry_attempt }) => retry_attempt > 1) === true;
    if (!gaps) expect(faultsOf(found.row, given.records ?? [])).toEqual([]);
    if (!['as_it_was', 'due_again', 'given_up_again'].includes(as)) expect(found.row).not.toHaveProperty('work_queue');
    expect(found.row).not.toHaveProperty('queued_for');
  });

  it.each(UNKNOWN)('is stopped until a person decides: %s', (_, given, why) => {
    const found = decided(given);
    expect(found).toMatchObject({ do: 'ask', why, row: { send_status: 'FAILED', failure_reason: 'UNKNOWN' } });
    if (found.do !== 'ask') return;
    expect(found.row).not.toHaveProperty('work_queue');
    expect(found.row).toMatchObject({ error_message: QUESTIONS[why] });
    expect(QUESTIONS[why].length).toBeLessThanOrEqual(100);
    const records = [...(given.records ?? [record(0)]), ...(found.with?.record ? [found.with.record] : [])];
    expect(faultsOf({ ...found.row }, records)).toEqual([]);
  });

  it('stays cancelled as its successor, of which no attempt was made, and only the content is left', () => {
    const acts = [act({ of: { log_ids: ['log-1-fallback'] } })];
    const found = decided({ row: FALLBACK, records: [FIRST, EXHAUSTED], acts, ...successor({}) });
    const row = { log_id: 'log-1-fallback', failure_reason: 'CANCELLED' };
    expect(found).toMatchObject({ as: 'handed_on', with: { successor: { do: 'put', as: 'cancelled', row } } });
  });

  it('is left to a person where it was put anew, and its successor of that life goes on', () => {
    const later = { ...EXHAUSTED, retry_attempt: 3 };
    const found = decided({
      row: FALLBACK,
      records: [FIRST, later],
      content: { is_copy: false, life: 2 },
      ...successor({}),
    });
    const row = { log_id: 'log-1-fallback-2', predecessor_log_id: 'log-1' };
    expect(found).toMatchObject({ do: 'ask', row: { life: 2 }, with: { successor: { do: 'put', row } } });
  });

  it('was delivered after all, and takes its successor along, which nobody had sent', () => {
    const arrived = record(0, { retry_status: 'SUCCESS', evidence: 'seen' });
    const found = decided({ row: FALLBACK, records: [arrived, EXHAUSTED], ...successor({}) });
    const row = { log_id: 'log-1-fallback', failure_reason: 'CANCELLED' };
    expect(found).toMatchObject({
      ...{ as: 'delivered', row: { send_status: 'SUCCESS', successor_log_id: 'log-1-fallback' } },
      with: { successor: { do: 'put', as: 'cancelled', row } },
    });
  });

  it('was erased, and takes its successor along, which nobody had sent', () => {
    const content = { is_copy: false, erased_at: iso(MINUTE) };
    const found = decided({ row: FALLBACK, records: [FIRST, EXHAUSTED], content, ...successor({}) });
    expect(found).toMatchObject({ as: 'erased', with: { successor: { do: 'put', as: 'cancelled' } } });
  });

  it('is given up again, where its successor found that nobody wanted it', () => {
    const its = [ofSuccessor(0, { retry_status: 'SKIPPED', failure_reason: 'CANCELLED' })];
    const found = decided({ row: FALLBACK, records: [FIRST, EXHAUSTED], ...successor({ records: its }) });
    expect(found).toMatchObject({ as: 'given_up_again', with: { successor: { as: 'cancelled' } } });
    expect(found.do === 'put' && found.row).not.toHaveProperty('successor_log_id');
  });

  it('asks of a successor whose row is lost whether a bulk cancellation took it', () => {
    const acts = [bulk({ filter: { channel: 'teams' } })];
    const found = decided({ row: FALLBACK, records: [FIRST, EXHAUSTED], acts, ...successor({}) });
    expect(found).toMatchObject({ as: 'handed_on', with: { successor: { do: 'ask', why: 'perhaps_cancelled' } } });
  });

  it('stays cancelled where it had come back before, which its record does not say yet', () => {
    const row = gone({ failure_reason: 'CANCELLED', delivery_by_attempt: { 0: 'soft_bounced' } });
    const found = decided({ row, records: [record(0, { retry_status: 'SUCCESS' })] });
    expect(found).toEqual({ do: 'put', as: 'as_it_was', row });
  });

  it('is of the life that its writer began, and repeats no number of its attempts', () => {
    const content = { is_copy: false, life: 2 };
    expect(decided({ records: [FIRST], content })).toMatchObject({ row: { life: 2, last_attempt: 1 } });
    const since = decided({ records: [FIRST, record(2), record(3)], content });
    expect(since).toMatchObject({ row: { life: 2, last_attempt: 3 } });
  });

  it('goes on as its successor went on, where only records of that are left', () => {
    const its = [ofSuccessor(0, { retry_status: 'SUCCESS' })];
    const found = decided({ row: FALLBACK, records: [FIRST, EXHAUSTED], ...successor({ records: its }) });
    const row = { log_id: 'log-1-fallback', channel: 'teams', send_status: 'SUCCESS', predecessor_log_id: 'log-1' };
    expect(found).toMatchObject({
      do: 'put',
      as: 'handed_on',
      with: { successor: { do: 'put', as: 'delivered', row } },
    });
  });

  it('is put as it is before the indexer has taken it in, and as the indexer made it after that', () => {
    const raw = decided({ row: FOREIGN });
    expect(raw).toMatchObject({ do: 'put', as: 'as_it_was', row: FOREIGN });
    const taken = decided({ row: FOREIGN, content: LIVE, records: [record(1, { retry_status: 'SUCCESS' })] });
    expect(taken).toMatchObject({ do: 'put', as: 'delivered', row: { send_status: 'SUCCESS' } });
    expect(taken.do === 'put' && taken.row).not.toHaveProperty('recipient_address');
    expect(decided({ row: FOREIGN, records_survived: false })).toEqual({ do: 'ask', why: 'not_taken_in' });
  });

  it('owes no record of what came back since', () => {
    const row = copy({ send_status: 'SUCCESS', last_attempt: 1, record_due: '{"retry_attempt":1}' });
    const bounced = record(1, { retry_status: 'FAILED', evidence: 'soft_bounced', next_retry_at: iso(2 * NOW) });
    const found = decided({ row, records: [FIRST, bounced] });
    expect(found).toMatchObject({ do: 'put', as: 'due_again', row: { send_status: 'RETRY' } });
    expect(found.do === 'put' && found.row).not.toHaveProperty('record_due');
  });

  describe('that its writer had put anew, and nobody had taken in', () => {
    const row = FOREIGN;
    const asPut = { do: 'put', as: 'as_it_was', row };
    const notTakenIn = { do: 'ask', why: 'not_taken_in' };
    const former = record(1, { retry_at: iso(), retry_status: 'SUCCESS' });
    const moment = record(1, { retry_at: iso(MINUTE), retry_status: 'SUCCESS' });

    it('is put as it is, whatever became of its former life', () => {
      expect(decided({ row, content: LIVE, records: [former] })).toEqual(asPut);
      expect(decided({ row, content: LIVE })).toEqual(asPut);
      expect(decided({ row, content: LIVE, records: [former, record(2)] })).toEqual(asPut);
      const corrected = { is_copy: false, life: 3 };
      const later = record(3, { retry_at: iso(), retry_status: 'SUCCESS' });
      expect(decided({ row, content: corrected, records: [former, later] })).toEqual(asPut);
    });

    it('is left to a person where it was taken in since, behind its former life', () => {
      const since = { content: { is_copy: false, life: 3 }, records: [former] };
      expect(decided({ row, ...since })).toMatchObject({ do: 'ask', why: 'put_anew' });
    });

    it('stays delivered, and is left to a person, where the copy is from within the attempt that delivered it', () => {
      const sending = copy({ send_status: 'SENDING', claim_id: 'claim-1', claim_until: iso(MINUTE), last_attempt: 0 });
      const arrived = record(1, { retry_status: 'SUCCESS' });
      expect(decided({ row: sending, content: { is_copy: false, life: 2 }, records: [arrived] })).toMatchObject({
        ...{ do: 'ask', why: 'put_anew' },
        row: { send_status: 'SUCCESS', next_life: 2 },
      });
    });

    it('is left to a person where nobody knows of which life its records are', () => {
      expect(decided({ row, content: LIVE, records: [moment] })).toEqual(notTakenIn);
      const lost = { records_survived: false, content: { is_copy: true } };
      expect(decided({ row, records: [former], ...lost })).toEqual(notTakenIn);
    });

    it('is left to a person where an operator has acted on it since', () => {
      expect(decided({ row, content: LIVE, records: [former], acts: [act({})] })).toEqual(notTakenIn);
      expect(decided({ row, content: LIVE, acts: [act({})] })).toEqual(notTakenIn);
    });
  });

  it('takes no address along that was erased', () => {
    const row = {
      ...copy(),
      provider_host: 'a.example',
      error_message: 'a@example.com is full',
      writers_note: 'a@example.com',
    };
    const found = decided({ row, records: [FIRST], content: { is_copy: false, erased_at: iso(MINUTE) } });
    expect(JSON.stringify(found)).not.toContain('example');
  });

  it('is left out when its time is over', () => {
    expect(decided({ row: copy({ expires_at: at(0).getTime() / 1000 }) })).toEqual({ do: 'leave_out' });
  });

  it('has a turn of its own where it does not stand as it stood', () => {
    const found = decided({ row: dead({ turn: 'old' }), records: [FIRST, record(1, { retry_status: 'SUCCESS' })] });
    expect(found.do === 'put' && found.row['turn']).not.toBe('old');
  });
});
