import { describe, expect, it } from 'vitest';
import { type Answer, Auditor } from '../../simulation/audit/auditor.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 2, 1);
const answer = (now: number, more: Partial<Answer> = {}) => ({
  ...{ now, ok: true, lost: false, overloaded: false, retry_after_ms: undefined },
  ...more,
});
const DELIVERED = {
  status: 'SUCCESS',
  in_index: undefined,
  failure_reason: undefined,
  send_attempts: 1,
  letters: 0,
} as const;

const DEAD = { status: 'FAILED', in_index: 'dead', failure_reason: 'X', send_attempts: 1, letters: 1 } as const;

/** One notification, which a worker claims at T0. */
function claimed() {
  const worker = {};
  const auditor = new Auditor(1, () => 'info');
  auditor.given(0, -1);
  auditor.claimed(0, T0 + 65_000, T0);
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
    auditor.recorded(0, 0, 'SUCCESS');
    auditor.finish(0, DELIVERED, true);
    expect(auditor.result()).toMatchObject({ violations: 0, duplicates: 0 });
  });

  it.each<[string, (given: ReturnType<typeof claimed>) => void]>([
    ['2: two claims', ({ auditor }) => auditor.claimed(0, T0 + 70_000, T0 + 1_000)],
    ['2: two requests', ({ auditor }) => [{}, {}].forEach((worker) => void auditor.requested(0, worker, T0))],
    ['3: a duplicate', ({ send }) => [T0, T0 + 1_000].forEach((now) => void send(now))],
    [
      '5: sent after',
      ({ auditor, send }) => {
        send(T0);
        auditor.recorded(0, 0, 'SUCCESS');
        auditor.requested(0, {}, T0 + 1_000);
      },
    ],
    ['6: attempt 0 has no record', ({ auditor }) => auditor.recorded(0, 1, 'FAILED')],
    [
      '7: sent before its backoff',
      ({ auditor, worker }) => {
        auditor.requested(0, worker, T0);
        auditor.answered(0, answer(T0, { ok: false }));
        auditor.requested(0, worker, T0 + 5 * MINUTE - 1);
      },
    ],
    [
      '7: sent before its backoff',
      ({ auditor, worker }) => {
        auditor.requested(0, worker, T0);
        auditor.answered(0, answer(T0, { ok: false, overloaded: true }));
        auditor.requested(0, worker, T0 + 10 * MINUTE - 1);
      },
    ],
    ['7: sent after its deadline', ({ send }) => send(T0 + 181 * MINUTE)],
    ['9: a queue', ({ auditor }) => auditor.queued('{"to":"someone@example.test"}', 0)],
    ['1: SUCCESS, and nobody', ({ auditor }) => auditor.finish(0, DELIVERED, true)],
    ['1: lost', ({ auditor }) => auditor.finish(0, { ...DELIVERED, status: 'RETRY' }, false)],
    ['11: dead, with 0 letters', ({ auditor }) => auditor.finish(0, { ...DEAD, letters: 0 }, true)],
    ['11: not dead, with 1', ({ auditor }) => auditor.finish(0, { ...DEAD, in_index: undefined }, true)],
    ['1: left over', ({ auditor }) => auditor.finish(0, { ...DELIVERED, status: 'RETRY', in_index: 'due' }, true)],
    ['4: too many attempts', ({ auditor }) => auditor.finish(0, { ...DEAD, send_attempts: 5 }, true)],
  ])('reports %s', (violation, happen) => {
    const given = claimed();
    happen(given);
    expect(given.auditor.result().examples.join()).toContain(`invariant ${violation}`);
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
    recorded.auditor.recorded(0, 0, 'SUCCESS');
    recorded.send(T0 + 20 * MINUTE);
    expect(recorded.auditor.result().examples).toEqual([
      'invariant 5: sent after it was delivered (notification 0)',
      'invariant 3: a duplicate without a cause (notification 0)',
    ]);
    const never = claimed();
    never.send(T0);
    never.auditor.refused(never.worker);
    never.auditor.finish(0, DELIVERED, true);
    expect(never.auditor.result().examples).toEqual(['invariant 6: delivered without a record (notification 0)']);
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
