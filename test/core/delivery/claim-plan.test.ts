import { describe, expect, it } from 'vitest';
import { planClaim } from '../../../src/core/delivery/claim-plan.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { at, dueRow, iso, messageFor, received, T0 } from '../../support/rows.ts';

const claim = { now: at(1000), until: iso(61_000), by: 'token' };
const plan = (row: NotificationRow | undefined, message = messageFor(row ?? dueRow()), more = {}) =>
  planClaim(row, received(message, more), claim, DEFAULT_RETRY_POLICY);

const dead = (changes: Partial<NotificationRow> = {}) =>
  dueRow({
    send_status: 'FAILED',
    failure_reason: 'MAX_RETRIES',
    send_attempts: 6,
    attempts_left: 0,
    last_attempt: 5,
    work_queue: workQueueOf('dead', 'normal', 'log-1'),
    dead_message_id: 'message-0',
    dead_run_id: 'sweep-1',
    dead_sent_at: iso(-2_500),
    ...changes,
  });

const HOUR = 3_600_000;
const MOVED_ON = { do: 'drop', because: 'the notification has moved on since the message was written' };
/** What each claim sets on a row whose last attempt was this one. */
const claimed = (last_attempt: number) => ({
  send_status: 'SENDING',
  claim_until: claim.until,
  claim_id: 'token',
  last_attempt: last_attempt + 1,
});
const dueNow = { work_queue: workQueueOf('due', 'normal', 'log-1'), work_at: claim.now.toISOString() };

describe('a message', () => {
  const { work_queue: _, ...stopped } = dueRow();
  const { work_at: __, ...timeless } = dueRow();

  it.each([
    ['for a notification that does not exist', undefined, 'there is no such notification'],
    ['for a delivered notification', dueRow({ send_status: 'SUCCESS' }), 'it is delivered already'],
    ['for one that stopped without a dead letter', stopped, 'no work is left on it'],
    ['for one without a time', timeless, 'no work is left on it'],
  ])('%s is dropped', (_, row, because) => expect(plan(row)).toEqual({ do: 'drop', because }));

  it('written before the row moved on is dropped, also if the claim on the row has expired', () => {
    const expired = { send_status: 'SENDING', claim_until: iso() } as const;
    for (const changes of [{}, expired]) {
      const row = dueRow({ ...changes, work_at: iso(500) });
      expect(plan(row, messageFor(dueRow()))).toEqual(MOVED_ON);
    }
  });

  it.each([
    ['of a retry that is not settled yet, a moment first', at(900), 1, 5],
    ['of a retry that is not settled yet, then until the claim ends', at(900), 2, 59],
    ['for the same attempt, as SQS may have delivered it twice', T0, 1, 5],
    ['for an earlier attempt, which may be a redrive', at(-900), 4, 59],
  ])('waits while another worker holds a claim: %s', (_, due, receive_count, after_seconds) => {
    const row = dueRow({ send_status: 'SENDING', claim_until: iso(60_000) });
    const message = messageFor(row, { due: due.toISOString() });
    expect(plan(row, message, { receive_count })).toEqual({ do: 'wait', after_seconds });
  });

  it('of a retry waits no longer than the claim of the attempt before, whose end lets others take it over', () => {
    const row = dueRow({ send_status: 'SENDING', claim_until: iso(1001) });
    const next = messageFor(row, { due: iso(900) });
    expect(plan(row, next)).toEqual({ do: 'wait', after_seconds: 1 });
    expect(plan({ ...row, claim_until: iso(1000) }, next)).toEqual(MOVED_ON);
  });

  it.each([T0, claim.now])('for a claim that has expired takes the attempt over: until %o', (until) => {
    expect(plan(dueRow({ send_status: 'SENDING', claim_until: until.toISOString() }))).toEqual({ do: 'take_over' });
  });

  it('for a due row claims and counts the attempt, by the attempts left on the row', () => {
    expect(plan(dueRow({ attempts_left: 2 }))).toEqual({
      do: 'claim',
      trigger: 'sweep',
      requested_by: 'schedule',
      counted: true,
      change: { set: { ...claimed(0), send_attempts: 2, attempts_left: 1 }, remove: ['next_retry_at'] },
    });
  });

  it('claims a row to send it until the moment of its deadline', () => {
    const until = (ms: number) => plan(dueRow({ first_attempt_at: iso(ms - 6 * HOUR) }));
    expect(until(1000)).not.toHaveProperty('skip');
    expect(until(999)).toMatchObject({ skip: 'EXPIRED' });
  });

  it('claims a row without attempts left only to give it up', () => {
    expect(plan(dueRow({ send_attempts: 6, attempts_left: 0 }))).toMatchObject({
      do: 'claim',
      skip: 'MAX_RETRIES',
      counted: false,
    });
  });

  it('claims a row past its deadline only to give it up', () => {
    const row = dueRow({ first_attempt_at: iso(-7 * 3_600_000) });
    expect(plan(row)).toMatchObject({ do: 'claim', skip: 'EXPIRED', counted: false });
  });

  it('claims a row only to give it up when a delivery event has set give_up', () => {
    expect(plan(dueRow({ give_up: 'INVALID_RECIPIENT' }))).toMatchObject({ skip: 'INVALID_RECIPIENT', counted: false });
  });
});

describe('a run with max_retry_count', () => {
  it('raises the limit and stores it in the row', () => {
    const row = dueRow({ send_attempts: 6, attempts_left: 0, last_attempt: 5 });
    expect(plan(row, messageFor(row, { options: { max_retry_count: 8 } }))).toMatchObject({
      counted: true,
      change: { set: { send_attempts: 7, attempts_left: 2, max_retry_count: 8 } },
    });
  });

  it('gives up a row beyond a lower limit, and does not store a limit below the attempts already made', () => {
    const row = dueRow({ send_attempts: 5, attempts_left: 1 });
    const step = plan(row, messageFor(row, { options: { max_retry_count: 3 } }));
    expect(step).toMatchObject({ skip: 'MAX_RETRIES' });
    expect(step.do === 'claim' && step.change.set).not.toHaveProperty('max_retry_count');
  });

  it('stores a limit that the attempts made have reached exactly', () => {
    const row = dueRow({ send_attempts: 4, attempts_left: 2 });
    expect(plan(row, messageFor(row, { options: { max_retry_count: 3 } }))).toMatchObject({
      skip: 'MAX_RETRIES',
      counted: false,
      change: { set: { attempts_left: 0, max_retry_count: 3 } },
    });
  });
});

describe('a forced run', () => {
  it('attempts a row beyond its limit, without counting the attempt', () => {
    const row = dueRow({ send_attempts: 6, attempts_left: 0, last_attempt: 5 });
    const step = plan(row, messageFor(row, { options: { force: true } }));
    expect(step).toMatchObject({ do: 'claim', counted: false, change: { set: { attempts_left: 0, last_attempt: 6 } } });
    expect(step.do === 'claim' && (step.skip ?? step.change.set.send_attempts)).toBeUndefined();
  });

  it.each([
    ['EXPIRED', undefined],
    ['MAX_RETRIES', undefined],
    ['INVALID_RECIPIENT', 'INVALID_RECIPIENT'],
    ['FORMAT_ERROR', 'FORMAT_ERROR'],
  ] as const)('attempts a row with give_up only where another attempt may help: %s', (give_up, expected) => {
    const row = dueRow({ give_up });
    const step = plan(row, messageFor(row, { options: { force: true } }));
    expect(step.do === 'claim' && step.skip).toBe(expected);
  });

  it('gives up a due row that its writer deleted', () => {
    const row = dueRow({ is_deleted: true });
    const step = plan(row, messageFor(row, { options: { force: true } }));
    expect(step).toMatchObject({ do: 'claim', skip: 'CANCELLED', counted: false });
    expect(step.do === 'claim' && step.change.set).not.toHaveProperty('send_attempts');
  });

  it.each([
    ['due', dueRow()],
    ['dead', dead()],
  ])('whose message is older than the row drops it: %s', (_, row) => {
    const stale = messageFor(row, { options: { force: true }, run_id: 'manual-9', due: iso(-1000) });
    expect(plan(row, stale)).toMatchObject({ do: 'drop' });
  });

  it.each([
    ['without an attempt left, which does not count', 0, { attempts_left: 0 }],
    ['with attempts left, which counts', 3, { send_attempts: 7, attempts_left: 2 }],
  ])('makes one attempt on a dead notification %s', (_, attempts_left, counts) => {
    const row = dead({ attempts_left });
    expect(plan(row, messageFor(row, { options: { force: true }, run_id: 'manual-9' }))).toEqual({
      do: 'claim',
      trigger: 'manual',
      requested_by: 'operator',
      counted: attempts_left > 0,
      forced_dead: true,
      change: { set: { ...claimed(5), ...counts, ...dueNow } },
    });
  });
});

describe('a dead notification', () => {
  it('bounces the message that carries it until SQS moves it to the DLQ', () => {
    expect(plan(dead(), messageFor(dead()), { message_id: 'message-0' })).toEqual({ do: 'dead_letter' });
  });

  it('bounces that message though the row’s writer has changed the channel since, unless the row is due again', () => {
    const carrying = messageFor(dueRow());
    expect(plan(dead({ channel: 'slack' }), carrying, { message_id: 'message-0' })).toEqual({ do: 'dead_letter' });
    const due = dueRow({ channel: 'slack', dead_message_id: 'message-0' });
    expect(plan(due, carrying, { message_id: 'message-0' })).toEqual(MOVED_ON);
  });

  it('starts again for an operator’s redrive: same run, another message, queued after the death', () => {
    expect(plan(dead(), messageFor(dead()), { message_id: 'message-7', sent_at: at(1) })).toEqual({
      do: 'claim',
      trigger: 'redrive',
      requested_by: 'operator',
      counted: true,
      change: {
        set: {
          ...claimed(5),
          ...dueNow,
          send_attempts: 1,
          attempts_left: 5,
          retry_count: 0,
          redrive_count: 1,
          first_attempt_at: claim.now.toISOString(),
        },
        remove: ['failure_reason', 'dead_message_id', 'dead_run_id'],
      },
    });
  });

  it('starts again for one that a clock of a death dates 2.4 s before it', () => {
    const redriven = plan(dead(), messageFor(dead()), { message_id: 'message-7', sent_at: at(-2_400) });
    expect(redriven).toMatchObject({ do: 'claim', trigger: 'redrive' });
  });

  it('keeps as its letter what was redriven before it died: SQS had moved its message while a worker had it', () => {
    const row = dead({ dead_sent_at: iso(-60_000) });
    const set = { dead_message_id: 'message-7', dead_run_id: 'sweep-1', dead_sent_at: iso(-2_500) };
    const before = { message_id: 'message-7', sent_at: at(-2_500) };
    expect(plan(row, messageFor(row), before)).toEqual({ do: 'dead_letter', change: { set } });
    expect(plan(row, messageFor(row), { ...before, sent_at: at(-60_000) })).toEqual(MOVED_ON);
    const copied = dead({ dead_sent_at: iso(-60_000), dead_enqueued_at: iso(-70_000) });
    expect(plan(copied, messageFor(copied), before)).toEqual(MOVED_ON);
  });

  it.each([
    ['another run', { run_id: 'sweep-2' }, { message_id: 'message-7', sent_at: at(500) }],
    ['a message queued before the death', {}, { message_id: 'message-7', sent_at: at(-2_500) }],
  ])('drops an obsolete message: %s', (_, message, more) => {
    expect(plan(dead(), messageFor(dead(), message), more)).toEqual(MOVED_ON);
  });
});

describe('a copy of a message of the run that died', () => {
  const died = at(-500);
  const copy = (enqueued_at: Date, run_id = 'sweep-1') =>
    messageFor(dueRow(), { run_id, enqueued_at: enqueued_at.toISOString() });
  const late = { message_id: 'message-9', sent_at: at(500) };
  const row = dead({ work_at: died.toISOString(), dead_sent_at: iso(-2_999) });
  const redrive = { do: 'claim', trigger: 'redrive' };
  const letterNow = (enqueued_ms: number) => ({ dead_message_id: 'message-9', dead_enqueued_at: iso(enqueued_ms) });

  it('is a redrive if the message that it replaces is one, which was enqueued after the death', () => {
    expect(plan(row, copy(at(-499)), late)).toMatchObject(redrive);
    expect(plan(row, copy(at(-499), 'sweep-2'), late)).toEqual(MOVED_ON);
  });

  it('is none if that was enqueued before, though the copy was sent after the death', () => {
    expect(plan(row, copy(at(-3_000)), late)).toEqual(MOVED_ON);
  });

  it('becomes the letter if that was so near to the death that a wrong clock may have dated it before', () => {
    for (const near of [at(-2_999), died])
      expect(plan(row, copy(near), late)).toMatchObject({
        do: 'dead_letter',
        change: { set: { dead_message_id: 'message-9' } },
      });
  });

  it('becomes the letter if it is a copy of the letter, which was deleted then', () => {
    const shared = { ...row, dead_sent_at: iso(-700) };
    for (const made of [at(-700), at(-600), died]) {
      expect(plan(shared, copy(made), late)).toEqual({
        do: 'dead_letter',
        change: {
          set: {
            dead_message_id: 'message-9',
            dead_run_id: 'sweep-1',
            dead_enqueued_at: made.toISOString(),
            dead_sent_at: late.sent_at.toISOString(),
          },
        },
      });
    }
    expect(plan(shared, copy(at(-3_000)), late)).toEqual(MOVED_ON);
    expect(plan(shared, copy(at(-499)), late)).toMatchObject(redrive);
  });

  it('can die, and be redriven: its letter has an old time in it for ever', () => {
    const letter = copy(at(-5_000));
    const remembered = { ...row, dead_enqueued_at: iso(-5_000) };
    expect(plan(remembered, letter, late)).toMatchObject(redrive);
    expect(plan(remembered, letter, { ...late, sent_at: at(-3_000) })).toEqual(MOVED_ON);
    expect(plan(remembered, letter, { ...late, sent_at: died })).toMatchObject({ do: 'dead_letter' });
    // Copies of that redrive, of a message from before the death, and the message that the letter was a copy of.
    expect(plan(remembered, copy(at(400)), late)).toMatchObject(redrive);
    expect(plan(remembered, copy(at(-5_001)), late)).toEqual(MOVED_ON);
    const original = messageFor(dueRow());
    expect(plan(remembered, original, { ...late, sent_at: at(-5_000) })).toEqual(MOVED_ON);
    // The original has died in the DLQ, too, and is redriven with its copy.
    expect(plan(remembered, original, late)).toMatchObject(redrive);
    // It was redriven with the copy, which died again since.
    for (const before of [at(-3_000), at(-600), died])
      expect(plan(remembered, original, { ...late, sent_at: before })).toEqual(MOVED_ON);
  });

  it('is no redrive of the letter that it replaces, though a clock may have dated the death before both', () => {
    const early = dead({ work_at: iso(-2_500), dead_sent_at: iso(-100) });
    expect(plan(early, copy(at(-100)), late)).toMatchObject({ do: 'dead_letter', change: { set: letterNow(-100) } });
    expect(plan(early, copy(at(-99)), late)).toMatchObject(redrive);
  });

  it('becomes the letter again if it was redriven before its death: SQS had moved it while a worker had it', () => {
    const moved = { ...row, dead_enqueued_at: iso(-70_000), dead_sent_at: iso(-60_000) };
    const redriven = copy(at(-70_000));
    for (const before of [at(-59_999), at(-3_000), died])
      expect(plan(moved, redriven, { ...late, sent_at: before })).toMatchObject({
        do: 'dead_letter',
        change: { set: letterNow(-70_000) },
      });
    expect(plan(moved, redriven, { ...late, sent_at: at(-60_000) })).toEqual(MOVED_ON);
    expect(plan(moved, redriven, late)).toMatchObject(redrive);
  });
});

describe('a dead notification that must not be sent', () => {
  const reasons: [string, Partial<NotificationRow>, string][] = [
    ['was deleted by its writer', { is_deleted: true }, 'CANCELLED'],
    ['has a permanent give_up', { give_up: 'INVALID_RECIPIENT' }, 'INVALID_RECIPIENT'],
  ];

  it.each(reasons)('is only given up by a redrive when it %s, and its budget does not start anew', (_, why, skip) => {
    const row = dead({ ...why, attempts_left: 3 });
    expect(plan(row, messageFor(row), { message_id: 'message-7', sent_at: at(500) })).toEqual({
      do: 'claim',
      trigger: 'redrive',
      requested_by: 'operator',
      counted: false,
      forced_dead: true,
      skip,
      change: { set: { ...claimed(5), attempts_left: 3, ...dueNow } },
    });
  });

  it.each(reasons)('is only given up by a forced run when it %s', (_, why, skip) => {
    const step = plan(dead(why), messageFor(dead(), { options: { force: true }, run_id: 'manual-9' }));
    expect(step).toMatchObject({ do: 'claim', counted: false, forced_dead: true, skip });
  });

  it.each(['MAX_RETRIES', 'EXPIRED'] as const)(
    'does not include one with give_up %s: another attempt may help',
    (give_up) => {
      const step = plan(dead({ give_up }), messageFor(dead()), { message_id: 'message-7', sent_at: at(500) });
      expect(step.do === 'claim' && step.skip).toBeUndefined();
    },
  );
});
