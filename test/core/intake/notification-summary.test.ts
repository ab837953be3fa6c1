import { describe, expect, it } from 'vitest';
import { attemptOf, summaryOf } from '../../../src/core/intake/notification-summary.ts';
import { canRetry, errorMessage, publicState, whyNoRetry } from '../../../src/core/intake/public-state.ts';
import { ERROR_TYPES, OWN_FAULTS, type OwnFault, refusedByUs } from '../../../src/core/model/error-types.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

const NOT_FAILED = 'it has not failed and is sent when it is due';
const sending = (claim_until: Date, last_attempt: number) =>
  dueRow({ send_status: 'SENDING', claim_until: claim_until.toISOString(), last_attempt });
const dead = dueRow({ work_queue: workQueueOf('dead', 'normal', 'log-1'), failure_reason: 'MAX_RETRIES' });
const { work_queue: _, ...withoutWork } = dueRow();
const { work_at: __, ...untaken } = withoutWork;

const STATES: readonly (readonly [string, NotificationRow, string, string | undefined])[] = [
  ['delivered', dueRow({ send_status: 'SUCCESS' }), 'done', 'it is delivered already and is never sent again'],
  [
    'in its first attempt',
    sending(at(1), 0),
    'processing',
    `an attempt is under way until ${iso(1)} at the latest; check again after that`,
  ],
  [
    'in its first retry',
    sending(at(1), 1),
    'retrying',
    `an attempt is under way until ${iso(1)} at the latest; check again after that`,
  ],
  ['abandoned in its first attempt', sending(T0, 0), 'processing', NOT_FAILED],
  ['abandoned in a retry', sending(T0, 1), 'retrying', undefined],
  ['due for the first time', dueRow({ last_attempt: -1 }), 'processing', NOT_FAILED],
  ['due again', dueRow(), 'retrying', undefined],
  ['waiting for its time', dueRow({ last_attempt: -1, work_at: iso(1) }), 'saving', NOT_FAILED],
  ['waiting for its retry', dueRow({ work_at: iso(1) }), 'retrying', undefined],
  ['dead', dead, 'failed', undefined],
  ['stopped', { ...withoutWork, failure_reason: 'CANCELLED' }, 'failed', undefined],
  [
    'set aside',
    { ...untaken, failure_reason: 'FORMAT_ERROR' },
    'failed',
    'it was set aside as malformed; its writer has to correct the columns that error_message names',
  ],
  ['not indexed', untaken, 'saving', 'it is not in the work index yet; try again in a few seconds'],
  [
    'being sent by its writer',
    { ...untaken, send_status: 'SENDING' },
    'processing',
    'it is not in the work index yet; try again in a few seconds',
  ],
];

it.each(STATES)('a producer sees a notification %s', (_, row, state, why) => {
  expect(publicState(row, T0)).toBe(state);
  expect(whyNoRetry(row, T0)).toBe(why);
  expect(canRetry(row, T0)).toBe(why === undefined);
});

describe('what went wrong', () => {
  it('is nothing before a failure and after delivery', () => {
    expect(errorMessage(dueRow({ send_status: 'SUCCESS', error_type: 'UNKNOWN' }), T0)).toBeUndefined();
    expect(errorMessage(dueRow({ last_attempt: -1, error_type: 'UNKNOWN' }), T0)).toBeUndefined();
  });

  it('of a row that was set aside blames no receiver', () => {
    expect(errorMessage({ ...untaken, failure_reason: 'FORMAT_ERROR' }, T0)).toBe(
      'The notification was not sent: its data are not valid. They must be corrected.',
    );
  });

  it.each(ERROR_TYPES)('%s is a sentence of its own, which ends with what happens next', (error_type) => {
    const text = errorMessage(dueRow({ error_type }), T0);
    expect(text).toMatch(/^[A-Z].{15,}\. It is retried automatically\.$/);
    expect(ERROR_TYPES.filter((other) => errorMessage(dueRow({ error_type: other }), T0) === text)).toEqual([
      error_type,
    ]);
    expect(text).not.toContain(error_type);
  });

  it.each([
    ['UNKNOWN', 'UNKNOWN', 'The receiving service answered with an error.'],
    [
      'UNKNOWN',
      'EXPIRED',
      'The receiving service answered with an error. The time in which the notification may be delivered is over.',
    ],
    [
      'INVALID_RECIPIENT',
      'INVALID_RECIPIENT',
      'The recipient does not exist or does not accept messages. Correct the recipient and send the notification again.',
    ],
    [
      'AUTH_FAILED',
      'AUTH_FAILED',
      "The receiving service refused the integration's credential. The settings of the integration must be checked.",
    ],
    [
      'FORMAT_ERROR',
      'FORMAT_ERROR',
      'The receiving service refused the message as malformed. The template or the text must be corrected.',
    ],
    [
      'PERMISSION_DENIED',
      'PERMISSION_DENIED',
      'The integration lacks the permission to send there. The permission must be granted.',
    ],
    [undefined, 'CANCELLED', 'The notification was cancelled.'],
  ] as const)('of a notification that was given up: %s and %s', (error_type, failure_reason, text) => {
    const row = { ...dead, failure_reason, ...(error_type && { error_type }) };
    expect(errorMessage(row, T0)).toBe(text);
    expect(errorMessage({ ...row, successor_log_id: 'NL-2' }, T0)).toBe(
      `${text.replace(/ (?:Correct the|The settings|The template|The permission must) .*$/, '')} It continues on its fallback channel.`,
    );
  });

  it.each(Object.keys(OWN_FAULTS) as OwnFault[])('of what we refused for %s blames no receiving service', (fault) => {
    const { error_type, message } = refusedByUs(fault, 'x');
    const text = errorMessage({ ...dead, failure_reason: error_type, error_type, error_message: message }, T0) ?? '';
    expect(text).toMatch(/^It was not sent: [a-z -]+\. [A-Z]/);
    expect(text).not.toMatch(/receiving service|does not exist|_/);
  });

  it('of a notification that is retried keeps its advice, whatever it is linked to', () => {
    const row = dueRow({ error_type: 'AUTH_FAILED', successor_log_id: 'NL-2' });
    expect(errorMessage(row, T0)).toMatch(/must be checked\. It is retried automatically\.$/);
  });
});

describe('the summary of a notification', () => {
  it('has what the row has, and nothing of its content', () => {
    const row = {
      ...dueRow({ retry_count: 2, next_retry_at: iso(5), error_type: 'UNKNOWN' }),
      created_at: iso(-9),
      scheduled_at: iso(-8),
      sent_at: iso(-7),
      delivered_at: iso(-6),
      notification_id: 'N-1',
      successor_log_id: 'NL-2',
      predecessor_log_id: 'NL-0',
      recipient_address: 'someone@example.com',
    } as NotificationRow;
    expect(summaryOf({ ...row }, T0)).toEqual({
      log_id: 'log-1',
      channel: 'webhook',
      priority: 'normal',
      status: 'retrying',
      canRetry: true,
      errorMessage: 'The receiving service answered with an error. It is retried automatically.',
      retry_count: 2,
      next_retry_at: iso(5),
      created_at: iso(-9),
      scheduled_at: iso(-8),
      sent_at: iso(-7),
      delivered_at: iso(-6),
      notification_id: 'N-1',
      successor_log_id: 'NL-2',
      predecessor_log_id: 'NL-0',
    });
  });

  it.each([
    ['2025-06-01 10:30:00', '2025-06-01T10:30:00.000Z'],
    ['2025-06-01T10:30:00+09:00', '2025-06-01T01:30:00.000Z'],
    ['soon', undefined],
    ['', undefined],
    [1_748_773_800, undefined],
  ])('says times in one form, whatever their writer wrote (%j)', (written, said) => {
    const columns = ['scheduled_at', 'sent_at', 'delivered_at'];
    const row = { ...dueRow(), ...Object.fromEntries([...columns, 'next_retry_at'].map((name) => [name, written])) };
    const summary: Readonly<Record<string, unknown>> = { ...summaryOf(row as never, T0) };
    for (const name of [...columns, 'next_retry_at']) expect([name, summary[name]]).toEqual([name, said]);
  });

  it('leaves out what is absent, of another type, or over', () => {
    const row = { ...dueRow({ send_status: 'SUCCESS', next_retry_at: iso(5) }), scheduled_at: 7 };
    const { channel: _, priority: __, ...bare } = row;
    expect(summaryOf({ ...bare } as unknown as NotificationRow & Record<string, unknown>, T0)).toEqual({
      log_id: 'log-1',
      priority: 'normal',
      status: 'done',
      canRetry: false,
      retry_count: 0,
    });
    expect(summaryOf({ ...dueRow({ last_attempt: -1 }) }, T0)).not.toHaveProperty('errorMessage');
    expect(summaryOf({ ...dueRow() }, T0)).not.toHaveProperty('next_retry_at');
  });

  it.each([
    [{ notification_type: 'TEAMS' }, 'teams'],
    [{ notification_type: 'FAX' }, undefined],
    [{ notification_type: 7 }, undefined],
    [{ channel: 'email', notification_type: 'TEAMS' }, 'email'],
  ])('names the channel of a foreign row: %o', (columns, channel) => {
    const { channel: _, ...row } = dueRow();
    const summary = summaryOf({ ...row, ...columns } as unknown as NotificationRow & Record<string, unknown>, T0);
    expect(summary.channel).toBe(channel);
    expect('channel' in summary).toBe(channel !== undefined);
  });

  it.each([
    [3, 3],
    [-1, 0],
    [1.5, 0],
    ['2', 0],
    [undefined, 0],
  ])('counts retries of a foreign row: %j is %i', (retry_count, expected) => {
    const row = { ...dueRow(), retry_count } as unknown as NotificationRow & Record<string, unknown>;
    expect(summaryOf(row, T0).retry_count).toBe(expected);
  });

  it.each([
    ['2026-03-01T09:00:00Z', '2026-03-01T09:00:00.000Z'],
    ['yesterday', undefined],
    [7, undefined],
  ])('shows the creation %j as %s', (created_at, expected) => {
    const summary = summaryOf({ ...dueRow(), created_at }, T0);
    expect(summary.created_at).toBe(expected);
    expect('created_at' in summary).toBe(expected !== undefined);
  });
});

describe('the details of the last failure', () => {
  const error_details = '{"type":"UNKNOWN","message":"no someone@example.com at https://in.example/x"}';
  const masked = '{"type":"UNKNOWN","message":"no … at …"}';

  it.each([
    ['failed', dead, masked],
    ['retrying', dueRow(), masked],
    ['processing', dueRow({ last_attempt: -1 }), undefined],
    ['done', dueRow({ send_status: 'SUCCESS' }), undefined],
  ])('of a notification that is %s', (status, row, expected) => {
    const summary = summaryOf({ ...row, error_details }, T0);
    expect([summary.status, summary.error_details]).toEqual([status, expected]);
    expect('error_details' in summary).toBe(expected !== undefined);
  });

  it.each(['', 7, undefined])('are absent if the row says %j', (nothing) => {
    const row = { ...dueRow(), error_details: nothing } as unknown as NotificationRow & Record<string, unknown>;
    expect(summaryOf(row, T0)).not.toHaveProperty('error_details');
  });
});

it('an attempt is shown with the words of the provider in its details only, without addresses', () => {
  const record = {
    retry_attempt: 2,
    retry_at: iso(),
    retry_status: 'FAILED',
    error_message: 'no such user someone@example.com',
  } as unknown as RetryRecord;
  const shown = { attempt: 2, at: iso(), status: 'FAILED' };
  expect(attemptOf(record)).toEqual(shown);
  const failed = { ...record, error_type: 'UNKNOWN', response_code: '500', error_details: '{"to":"a@b.example"}' };
  expect(attemptOf(failed as RetryRecord)).toEqual({
    ...shown,
    error_type: 'UNKNOWN',
    response_code: '500',
    error_details: '{"to":"…"}',
  });
});

describe('a background job in a summary', () => {
  const given = (changes: Partial<NotificationRow>, columns: object = {}) =>
    summaryOf({ ...withoutWork, failure_reason: 'MAX_RETRIES', ...changes, ...columns }, T0);

  it('names its kind, by the template of its row', () => {
    expect(given({}, { template_id: 'export-members' })).toMatchObject({ job_type: 'export-members' });
    for (const template_id of [null, 7, undefined]) expect(given({}, { template_id })).not.toHaveProperty('job_type');
  });

  it('that failed says why, when, and whether an operator can retry it', () => {
    const error_details = JSON.stringify({ attempt: 1, at: iso(), type: 'UNKNOWN' });
    const failed = { error_type: 'UNKNOWN', failed_at: iso(), retryable: true } as const;
    expect(given({ error_type: 'UNKNOWN', error_details })).toMatchObject(failed);
    expect(given({ error_type: 'INVALID_RECIPIENT', failure_reason: 'INVALID_RECIPIENT' })).toMatchObject({
      error_type: 'INVALID_RECIPIENT',
      retryable: false,
    });
  });

  it('that was given up without an attempt says why it was', () => {
    expect(given({ failure_reason: 'CANCELLED' })).toMatchObject({ error_type: 'CANCELLED', retryable: true });
  });

  it('shows no cause that someone else made up, and no time that nobody knows', () => {
    const { work_at: _, ...aside } = withoutWork;
    const summary = summaryOf({ ...aside, error_type: 'odd' as never, failure_reason: 'FORMAT_ERROR' }, T0);
    expect(summary).toMatchObject({ status: 'failed', retryable: false });
    expect(summary).not.toHaveProperty('error_type');
  });

  it('that did not fail says none of it', () => {
    for (const row of [dueRow({ error_type: 'UNKNOWN' }), dueRow({ send_status: 'SUCCESS', error_type: 'UNKNOWN' })]) {
      const summary = summaryOf({ ...row }, T0);
      for (const name of ['error_type', 'failed_at', 'retryable']) expect(summary).not.toHaveProperty(name);
    }
  });
});

it.each([
  [0, 0],
  [3, 3],
  [-1, 0],
  [1.5, 0],
  ['3', 0],
])('a count that is none is 0: %j', (retry_count, expected) => {
  expect(summaryOf({ ...dueRow(), retry_count: retry_count as number }, T0).retry_count).toBe(expected);
});

it('a row without a valid priority has that of its level, or the normal one', () => {
  const { priority: _p, ...plain } = dueRow();
  const priorityOf = (columns: object) =>
    summaryOf({ ...plain, ...columns } as unknown as Parameters<typeof summaryOf>[0], T0).priority;
  expect([priorityOf({ priority: 'urgent' }), priorityOf({ priority_level: 'HIGH' }), priorityOf({})]).toEqual([
    'urgent',
    'important',
    'normal',
  ]);
});

it('an attempt has no code or cause that its record lacks', () => {
  const record = { retry_attempt: 1, retry_at: iso(), retry_status: 'SUCCESS' } as RetryRecord;
  expect(attemptOf(record)).toStrictEqual({ attempt: 1, at: iso(), status: 'SUCCESS' });
});
