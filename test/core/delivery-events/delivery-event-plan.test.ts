import { describe, expect, it } from 'vitest';
import type { Feedback } from '../../../src/core/delivery-events/delivery-event.ts';
import { type EventSubject, planDeliveryEvent } from '../../../src/core/delivery-events/delivery-event-plan.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import {
  AUTO_REPLY,
  acceptedRow,
  eventOf,
  PERMANENT,
  recordOf,
  TRANSIENT,
  UNPROVEN,
  uncertainRow,
  VIRUS,
} from '../../support/delivery-events.ts';
import { at, iso } from '../../support/rows.ts';

const NOW = at(2000);
const DELIVERED: Feedback = { kind: 'delivered' };
const AT = iso(1000);

function plan(feedback: Feedback, subject: EventSubject, changes: Parameters<typeof eventOf>[1] = {}) {
  return planDeliveryEvent(eventOf(feedback, changes), subject, {
    now: NOW,
    policy: DEFAULT_RETRY_POLICY,
    random: () => 0,
  });
}
const accepted = (changes: Partial<NotificationRow> = {}): EventSubject => {
  const record = recordOf(2);
  return { row: acceptedRow(changes), record, newest: record };
};
const uncertain = (changes: Partial<NotificationRow> = {}): EventSubject => {
  const record = recordOf(2, 'NETWORK_TIMEOUT');
  return { row: uncertainRow(changes), record, newest: record };
};

describe('an event during an attempt of a row that its writer has put anew', () => {
  const claim = { send_status: 'SENDING', claim_until: iso(60_000), claim_id: 'new' } as const;
  const record = { ...recordOf(2), claim_id: 'former' };
  const subject = { row: uncertainRow(claim), record, newest: record };

  it('is not of the attempt if it is of the message before', () => {
    expect(plan(DELIVERED, subject)).toMatchObject({ do: 'ignore' });
  });

  it('is of the attempt if it is of another message', () => {
    expect(plan(DELIVERED, subject, { provider_message_id: 'message-new' })).toMatchObject({
      do: 'note',
      change: { set: { delivery_by_attempt: { 2: 'delivered' } } },
      again_at: claim.claim_until,
    });
  });

  it('whose worker crashed is recorded as of the new claim', () => {
    const row = uncertainRow({ ...claim, claim_until: iso(1_500) });
    expect(plan(DELIVERED, { ...subject, row }, { provider_message_id: 'message-new' })).toMatchObject({
      do: 'reconcile',
      record: { claim_id: 'new', provider_message_id: 'message-new' },
    });
  });
});

describe('an event of a row that its writer has replaced, before the indexer comes', () => {
  const content = { recipient_address: 'new@example.com', message_body: 'x', message_format: 'PLAIN' };
  const replaced = (changes?: Partial<NotificationRow>): EventSubject => {
    const subject = uncertain(changes);
    return { ...subject, row: { ...subject.row, ...content } };
  };

  it('is not of the life that begins', () => {
    expect(plan({ kind: 'complained' }, replaced())).toMatchObject({ do: 'ignore' });
  });

  it('is not of the life that begins behind an end, whose reason its writer has removed', () => {
    const { row, ...others } = replaced({ send_status: 'FAILED' });
    const { work_queue: _, ...stopped } = row;
    expect(plan(DELIVERED, { row: stopped, ...others })).toMatchObject({ do: 'ignore' });
  });

  it.each<[string, Partial<NotificationRow> & { recipient_address?: string }]>([
    ['is deleted by the same write', { is_deleted: true }],
    ['has bounced, and keeps its recipient', { give_up: 'INVALID_RECIPIENT', recipient_address: '' }],
  ])('counts for one that %s: no other life begins, or it has ended already', (_, changes) => {
    const { row, ...others } = replaced();
    expect(plan({ kind: 'complained' }, { row: { ...row, ...changes }, ...others })).toMatchObject({
      do: 'reconcile',
      record: { retry_status: 'SUCCESS' },
      change: { set: { send_status: 'SUCCESS', suppressed: true } },
    });
  });

  it('leaves the record that a stronger one has written since the row was read', () => {
    const record = { ...recordOf(2), evidence: 'seen' } as const;
    const { row } = replaced({ delivery_by_attempt: { 2: 'bounced' }, bounced_at: AT });
    expect(plan(PERMANENT, { row, record, newest: record })).toMatchObject({ do: 'ignore' });
  });

  it('completes the record of what the row has kept: a worker may end that life yet', () => {
    const planned = plan({ kind: 'complained' }, replaced({ delivery_by_attempt: { 2: 'seen' } }));
    expect(planned).toEqual({
      do: 'note',
      record: expect.objectContaining({ retry_attempt: 2, retry_status: 'SUCCESS', evidence: 'seen' }),
    });
  });
});

describe('an event of an arrival', () => {
  it.each<[Feedback['kind'], object]>([
    ['delivered', { delivered_at: AT, delivery_by_attempt: { 2: 'delivered' } }],
    ['opened', { delivered_at: AT, opened_at: AT, delivery_by_attempt: { 2: 'seen' } }],
    ['complained', { delivered_at: AT, complained_at: AT, suppressed: true, delivery_by_attempt: { 2: 'seen' } }],
  ])('is noted on a row that SES accepted: %s', (kind, set) => {
    expect(plan({ kind } as Feedback, accepted())).toEqual({ do: 'note', change: { set } });
  });

  it('is dated by the earliest event', () => {
    const known = { delivered_at: iso(500), delivery_by_attempt: { 2: 'delivered' } } as const;
    expect(plan(DELIVERED, accepted(known))).toEqual({ do: 'note' });
    const later = { delivered_at: iso(5000), delivery_by_attempt: { 2: 'delivered' } } as const;
    expect(plan(DELIVERED, accepted(later))).toEqual({ do: 'note', change: { set: { delivered_at: AT } } });
  });

  it.each<[string, EventSubject]>([
    ['waits for a retry', uncertain()],
    [
      'is dead',
      uncertain({
        send_status: 'FAILED',
        failure_reason: 'MAX_RETRIES',
        work_queue: 'dead#normal#0',
        dead_message_id: 'm',
        dead_run_id: 'r',
      }),
    ],
    ['has give_up set', uncertain({ give_up: 'EXPIRED' })],
    ['lost its worker in that attempt', uncertain({ send_status: 'SENDING', claim_until: iso(-1) })],
  ])('makes a row that %s SUCCESS, and cancels its retry', (_, subject) => {
    const planned = plan(DELIVERED, subject);
    expect(planned).toMatchObject({
      do: 'reconcile',
      record: { retry_attempt: 2, retry_status: 'SUCCESS', provider_message_id: 'message-2' },
      change: { set: { send_status: 'SUCCESS', delivered_at: AT, sent_at: iso() } },
    });
    if (planned.do !== 'reconcile') return;
    expect(planned.record).not.toHaveProperty('error_type');
    const after: Record<string, unknown> = { ...subject.row, ...planned.change?.set };
    for (const name of planned.change?.remove ?? []) delete after[name];
    for (const name of ['work_queue', 'next_retry_at', 'failure_reason', 'dead_message_id', 'dead_run_id', 'give_up']) {
      expect(after).not.toHaveProperty(name);
    }
  });

  it('makes a row SUCCESS also when an earlier attempt arrived', () => {
    const subject = { ...uncertain(), record: recordOf(1, 'UNKNOWN') };
    expect(plan(DELIVERED, subject, { attempt: 1 })).toMatchObject({ do: 'reconcile', record: { retry_attempt: 1 } });
  });

  it('is noted on a row whose attempt is under way, and its worker settles the outcome', () => {
    const claim_until = iso(60_000);
    const { record: _, ...subject } = uncertain({ send_status: 'SENDING', claim_until });
    expect(plan(DELIVERED, subject)).toEqual({
      do: 'note',
      change: { set: { delivered_at: AT, delivery_by_attempt: { 2: 'delivered' } } },
      again_at: claim_until,
    });
  });

  it('writes a record when the worker died before it wrote one', () => {
    const { row } = uncertain({ send_status: 'SENDING', claim_until: iso(-1) });
    expect(plan(DELIVERED, { row })).toMatchObject({
      do: 'reconcile',
      record: { retry_log_id: 'log-1#2', retry_status: 'SUCCESS', retry_at: AT },
    });
  });

  it('does not count when the attempt came back afterwards', () => {
    const subject = uncertain({ delivery_by_attempt: { 2: 'bounced' } });
    expect(plan(DELIVERED, subject)).toMatchObject({ do: 'ignore', because: expect.stringContaining('came back') });
    expect(plan({ kind: 'opened' }, subject)).toMatchObject({ do: 'reconcile' });
  });
});

describe('an event of a bounce', () => {
  it('that is permanent sets give_up, so that the next message gives up without another attempt', () => {
    const now = NOW.toISOString();
    expect(plan(PERMANENT, accepted({ delivered_at: AT, delivery_by_attempt: { 2: 'delivered' } }))).toMatchObject({
      do: 'fail',
      due: now,
      record: { retry_status: 'FAILED', error_type: 'INVALID_RECIPIENT', remedy: expect.any(String) },
      change: {
        set: {
          send_status: 'RETRY',
          give_up: 'INVALID_RECIPIENT',
          error_type: 'INVALID_RECIPIENT',
          error_message: 'the mail bounced: INVALID_RECIPIENT',
          bounced_at: AT,
          work_at: now,
          work_queue: expect.stringMatching(/^due#normal#/),
          delivery_by_attempt: { 2: 'bounced' },
        },
        remove: ['sent_at', 'delivered_at'],
      },
    });
    expect(plan(VIRUS, accepted())).toMatchObject({ do: 'fail', change: { set: { give_up: 'FORMAT_ERROR' } } });
  });

  it('that is temporary waits as after any failure', () => {
    // Two retries made: four times the base interval of five minutes.
    const due = new Date(NOW.getTime() + 4 * 300_000).toISOString();
    const planned = plan(TRANSIENT, accepted());
    expect(planned).toMatchObject({
      do: 'fail',
      due,
      record: { retry_status: 'FAILED', next_retry_at: due },
      change: { set: { send_status: 'RETRY', work_at: due, next_retry_at: due, error_type: 'UNKNOWN' } },
    });
    expect(planned).not.toHaveProperty('change.set.give_up');
  });

  it.each<[string, Partial<NotificationRow>]>([
    ['MAX_RETRIES', { attempts_left: 0 }],
    ['EXPIRED', { first_attempt_at: iso(-6 * 3_600_000) }],
  ])('that is temporary, but beyond limit or deadline, sets give_up: %s', (give_up, changes) => {
    expect(plan(TRANSIENT, accepted(changes))).toMatchObject({
      do: 'fail',
      due: NOW.toISOString(),
      change: { set: { give_up } },
    });
  });

  it.each<[string, Feedback, EventSubject, number?]>([
    ['temporary, of a row that waits for a retry already', TRANSIENT, uncertain()],
    ['of a row that was given up without a dead letter', PERMANENT, withoutWork('CANCELLED')],
    ['of an older attempt, while a newer one was accepted', PERMANENT, older(accepted()), 1],
    ['of an older attempt, while a newer one is to be made', PERMANENT, older(uncertain()), 1],
    ['of a newer attempt, when an older one arrived', PERMANENT, accepted({ delivery_by_attempt: { 1: 'delivered' } })],
    ['of an older attempt, while another is being made', PERMANENT, older(sending()), 1],
  ])('is only recorded: %s', (_, feedback, subject, attempt = 2) => {
    const planned = plan(feedback, subject, { attempt });
    expect(planned).toMatchObject({ do: 'note', record: { retry_attempt: attempt, retry_status: 'FAILED' } });
    if (planned.do !== 'note') return;
    expect(Object.keys(planned.change?.set ?? {}).sort()).toEqual(['bounced_at', 'delivery_by_attempt']);
    expect(planned).not.toHaveProperty('due');
  });

  it('stops a pointless retry, and revives a dead letter to give it up for this reason', () => {
    expect(plan(PERMANENT, uncertain())).toMatchObject({
      do: 'fail',
      change: { set: { give_up: 'INVALID_RECIPIENT' } },
    });
    const dead = { send_status: 'FAILED', failure_reason: 'MAX_RETRIES', work_queue: 'dead#normal#0' } as const;
    expect(plan(PERMANENT, uncertain(dead))).toMatchObject({ do: 'fail', change: { remove: ['failure_reason'] } });
  });

  it('withdraws the success that rests on its attempt, and the outcome of the newest attempt counts again', () => {
    const row = acceptedRow({ delivered_at: AT, delivery_by_attempt: { 1: 'delivered' } });
    const subject = { row, record: recordOf(1), newest: recordOf(2, 'NETWORK_TIMEOUT') };
    expect(plan(PERMANENT, subject, { attempt: 1 })).toMatchObject({
      do: 'fail',
      record: { retry_attempt: 1, error_type: 'INVALID_RECIPIENT' },
      change: { set: { send_status: 'RETRY', error_type: 'NETWORK_TIMEOUT' } },
    });
  });

  it('changes nothing on a notification that the recipient opened', () => {
    expect(plan(PERMANENT, accepted({ opened_at: AT, delivery_by_attempt: { 2: 'seen' } }))).toEqual({ do: 'note' });
  });

  it.each<[string, EventSubject]>([
    ['delivered', accepted({ delivered_at: AT, delivery_by_attempt: { 2: 'delivered' } })],
    ['accepted', accepted()],
    ['to be retried', uncertain()],
  ])('that may be an automatic reply changes nothing on a notification that is %s', (_, subject) => {
    expect(plan(AUTO_REPLY, subject)).toEqual({ do: 'note' });
  });

  it.each([
    ['temporary', TRANSIENT],
    ['permanent, but without a status code', UNPROVEN],
  ])('changes nothing on an attempt that is known as delivered: %s', (_, feedback) => {
    expect(plan(feedback, accepted({ delivered_at: AT, delivery_by_attempt: { 2: 'delivered' } }))).toEqual({
      do: 'note',
    });
  });

  it.each([
    ['temporary', TRANSIENT],
    ['permanent, but without a status code', UNPROVEN],
  ])('gives way to a delivery of its attempt that is reported later: %s', (_, feedback) => {
    const failed = plan(feedback, accepted());
    if (failed.do !== 'fail' || failed.record === undefined) throw new Error('The bounce changed nothing.');
    expect(failed.change?.set.delivery_by_attempt).toEqual({ 2: 'soft_bounced' });
    const row = { ...acceptedRow(), ...failed.change?.set };
    expect(plan(DELIVERED, { row, record: failed.record, newest: failed.record })).toMatchObject({
      do: 'reconcile',
      record: { retry_status: 'SUCCESS' },
      change: { set: { send_status: 'SUCCESS', delivery_by_attempt: { 2: 'delivered' } } },
    });
  });

  it('comes back when the attempt is over', () => {
    expect(plan(PERMANENT, sending())).toEqual({ do: 'note', again_at: iso(60_000) });
  });

  it('suppresses a recipient to whom the provider sends nothing', () => {
    const feedback = { ...PERMANENT, suppressed: true } as Feedback;
    expect(plan(feedback, accepted())).toMatchObject({ change: { set: { suppressed: true } } });
  });
});

it.each<[string, EventSubject, Parameters<typeof eventOf>[1]]>([
  ['of a future attempt', accepted(), { attempt: 3 }],
  ['of an attempt without a record', { row: acceptedRow() }, {}],
  ['of another message', accepted(), { provider_message_id: 'another' }],
])('an event that is not about this notification is ignored: %s', (_, subject, changes) => {
  expect(plan(DELIVERED, subject, changes)).toMatchObject({ do: 'ignore' });
  expect(plan(PERMANENT, subject, changes)).toMatchObject({ do: 'ignore' });
});

const older = (subject: EventSubject): EventSubject => ({ ...subject, record: recordOf(1, 'UNKNOWN') });

const sending = (): EventSubject => uncertain({ send_status: 'SENDING', claim_until: iso(60_000) });

function withoutWork(failure_reason: 'CANCELLED'): EventSubject {
  const { work_queue: _, next_retry_at: __, ...row } = uncertainRow({ send_status: 'FAILED', failure_reason });
  const record = recordOf(2, 'NETWORK_TIMEOUT');
  return { row, record, newest: record };
}
