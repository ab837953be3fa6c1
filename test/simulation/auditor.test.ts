import { describe, expect, it } from 'vitest';
import { type Answer, Auditor } from '../../simulation/audit/auditor.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 2, 1);
const answer = (now: number, more: Partial<Answer> = {}) => ({
  ...{ now, ok: true, lost: false, overloaded: false, limited: false, retry_after_ms: undefined },
  ...more,
});
const ROW = { log_id: 'n0', priority: 'info', created_by: 'intake-api', send_attempts: 1, last_attempt: 0 };
const DUE = { ...ROW, send_status: 'PENDING', work_queue: 'due#info#0', send_attempts: 0, last_attempt: -1 };
const SENDING = { ...ROW, send_status: 'SENDING', work_queue: 'due#info#0', claim_id: 'a' };
const record = (retry_attempt: number, retry_status: string) => ({
  original_log_id: 'n0',
  retry_attempt,
  retry_status,
});
const DELIVERED = { row: { ...ROW, send_status: 'SUCCESS' }, records: [record(0, 'SUCCESS')], letters: 0 };
const DEAD = {
  row: { ...ROW, send_status: 'FAILED', failure_reason: 'X', work_queue: 'dead#info#0' },
  ...{ records: [record(0, 'FAILED')], letters: 1 },
};

type Method = 'written' | 'sent' | 'requested' | 'accepted' | 'answered' | 'recorded' | 'queued' | 'finish';
/** What the auditor is told. */
type Call = { [M in Method]: [M, ...Parameters<Auditor[M]>] }[Method];

const accepted = (by: object, now: number): Call[] => [
  ['requested', 0, by, now],
  ['accepted', 0],
  ['answered', 0, answer(now + 100)],
];

/** One notification, which a worker claims at T0. */
function claimed() {
  const worker = {};
  const auditor = new Auditor(() => 'info');
  auditor.given(0, -1);
  auditor.written(0, DUE, { ...SENDING, claim_until: new Date(T0 + 65_000).toISOString() }, T0);
  const send = (now: number, by: object = worker) => {
    auditor.requested(0, by, now);
    auditor.accepted(0);
    auditor.answered(0, answer(now + 100));
  };
  return { auditor, worker, send };
}

describe('the auditor of a simulation', () => {
  it('finds nothing wrong with a notification that is sent, recorded and settled', () => {
    const { auditor, send } = claimed();
    send(T0);
    auditor.recorded(0, record(0, 'SUCCESS'));
    auditor.finish(0, DELIVERED);
    expect(auditor.result()).toMatchObject({ violations: 0, duplicates: 0 });
  });

  const claim_until = new Date(T0 + 65_000).toISOString();
  const [worker, other] = [{}, {}];
  const sent = { log_id: 'n0', attempt: 0, by: '', recipient: 'n0@example.com', now: T0, late: false, left_ms: 50_000 };
  it.each<[string, ...Call[]]>([
    ['2: two unexpired claims', ['written', 0, { ...SENDING, claim_until }, { ...SENDING, claim_id: 'b' }, T0 + 1_000]],
    ['2: sent while its row is SUCCESS', ['sent', 0, sent, { ...SENDING, send_status: 'SUCCESS' }, undefined]],
    ['2: two requests', ['requested', 0, worker, T0], ['requested', 0, other, T0]],
    ['3: a duplicate', ...accepted(worker, T0), ...accepted(worker, T0 + 1_000)],
    [
      '5: sent after',
      ...accepted(worker, T0),
      ['recorded', 0, record(0, 'SUCCESS')],
      ['requested', 0, other, T0 + 1_000],
    ],
    ['6: attempt 0 has no record', ['recorded', 0, { ...record(1, 'FAILED'), uncounted: true }]],
    ...([false, true] as const).map((overloaded): [string, ...Call[]] => [
      '7: sent before its backoff',
      ['requested', 0, worker, T0],
      ['answered', 0, answer(T0, { ok: false, overloaded })],
      ['requested', 0, worker, T0 + (overloaded ? 10 : 5) * MINUTE - 1],
    ]),
    ['7: sent after its deadline', ...accepted(worker, T0 + 181 * MINUTE)],
    ['9: a queue', ['queued', '{"to":"someone@example.test"}', 0]],
    ['1: SUCCESS without an acceptance', ['finish', 0, DELIVERED]],
    ['1: lost', ['finish', 0, { ...DELIVERED, row: { ...ROW, send_status: 'RETRY' } }]],
    ['11: a dead row without', ['finish', 0, { ...DEAD, letters: 0 }]],
    ['11: dead, with 2', ['finish', 0, { ...DEAD, letters: 2 }]],
    ['11: not dead, with 1', ['finish', 0, { ...DELIVERED, letters: 1 }]],
    ['4: more attempts', ['written', 0, SENDING, { ...SENDING, send_status: 'RETRY', send_attempts: 5 }, T0]],
    ['11: redrive_count', ['written', 0, SENDING, { ...SENDING, redrive_count: 1 }, T0]],
  ])('reports %s', (violation, ...calls) => {
    const { auditor } = claimed();
    for (const [method, ...args] of calls) (auditor[method] as (...args: unknown[]) => void).apply(auditor, args);
    expect(auditor.result().examples.join()).toContain(`invariant ${violation}`);
  });

  it('excuses a duplicate after a death before the record, and after an answer that got lost', () => {
    const { auditor, worker, send } = claimed();
    send(T0);
    auditor.died(worker);
    send(T0 + 6 * MINUTE, {});
    auditor.answered(0, answer(T0 + 6 * MINUTE, { ok: false, lost: true }));
    send(T0 + 20 * MINUTE, {});
    expect(auditor.result()).toMatchObject({
      violations: 0,
      duplicates: 2,
      duplicates_by_cause: { 'a worker died': 1, 'an answer got lost': 1 },
    });
  });

  it('excuses a duplicate after all storage refused the record, unless it was recorded later', () => {
    const refused = claimed();
    refused.send(T0);
    refused.auditor.refused(refused.worker);
    refused.send(T0 + 20 * MINUTE);
    expect(refused.auditor.result()).toMatchObject({
      violations: 0,
      duplicates_by_cause: { 'all storage refused its record': 1 },
    });
    const recorded = claimed();
    recorded.send(T0);
    recorded.auditor.refused(recorded.worker);
    recorded.auditor.recorded(0, record(0, 'SUCCESS'));
    recorded.send(T0 + 20 * MINUTE);
    expect(recorded.auditor.result().examples).toEqual([
      'invariant 5: sent after it was delivered (notification 0)',
      'invariant 3: a duplicate without a cause (notification 0)',
    ]);
    const never = claimed();
    never.send(T0);
    never.auditor.refused(never.worker);
    never.auditor.finish(0, { ...DELIVERED, records: [] });
    expect(never.auditor.result().examples).toContainEqual(
      expect.stringMatching(/^invariant 6: attempt \d has no record \(notification 0\)$/),
    );
  });

  it('excuses a retry whose worker died with the answer that it should wait for', () => {
    const { auditor, worker, send } = claimed();
    auditor.requested(0, worker, T0);
    auditor.answered(0, answer(T0, { ok: false, overloaded: true }));
    auditor.died(worker);
    send(T0 + 6 * MINUTE, {});
    expect(auditor.result().examples).toEqual([]);
  });
});
