import { describe, expect, it } from 'vitest';
import { type Answer, Auditor, type Final } from '../../tools/simulation/audit/auditor.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 2, 1);
const answer = (now: number, more: Partial<Answer> = {}) => ({
  now,
  ok: true,
  lost: false,
  overloaded: false,
  limited: false,
  retry_after_ms: undefined,
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
  records: [record(0, 'FAILED')],
  letters: 1,
};

type Method = 'written' | 'sent' | 'accepted' | 'answered' | 'recorded' | 'queued' | 'finish';
/** What the auditor is told. */
type Call = { [M in Method]: [M, ...Parameters<Auditor[M]>] }[Method];

const worker = (name: string) => ({ name, dead: false });
const [ONE, OTHER] = [worker('one'), worker('other')];
const send = (now: number, by = ONE) => ({
  log_id: 'n0',
  attempt: 0,
  by: by.name,
  recipient: 'n0@example.com',
  now,
  late: false,
  left_ms: 50_000,
});
const sent = (now: number, by = ONE, row: Final['row'] = SENDING): Call => [
  'sent',
  0,
  send(now, by),
  by,
  row,
  undefined,
];
const accepted = (now: number, by = ONE): Call[] => [
  sent(now, by),
  ['accepted', 0, send(now, by)],
  ['answered', 0, answer(now + 100)],
];

/** One notification, which a worker claims at T0. */
function claimed() {
  const auditor = new Auditor(() => 'info');
  auditor.written(0, DUE, { ...SENDING, claim_until: new Date(T0 + 65_000).toISOString() }, T0);
  const tell = (...calls: Call[]) => {
    for (const [method, ...args] of calls) (auditor[method] as (...args: unknown[]) => void).apply(auditor, args);
  };
  return { auditor, tell };
}

describe('the auditor of a simulation', () => {
  it('finds nothing wrong with a notification that is sent, recorded and settled', () => {
    const { auditor, tell } = claimed();
    tell(...accepted(T0), ['recorded', 0, record(0, 'SUCCESS')], ['finish', 0, DELIVERED]);
    expect(auditor.result()).toMatchObject({ violations: 0, duplicates: 0 });
  });

  const claim_until = new Date(T0 + 65_000).toISOString();
  it.each<[string, ...Call[]]>([
    ['2: two unexpired claims', ['written', 0, { ...SENDING, claim_until }, { ...SENDING, claim_id: 'b' }, T0 + 1_000]],
    ['2: sent while its row is SUCCESS', sent(T0, ONE, { ...SENDING, send_status: 'SUCCESS' })],
    ['2: two requests', sent(T0), sent(T0, OTHER)],
    ['3: a duplicate', ...accepted(T0), ...accepted(T0 + 1_000)],
    ['5: sent after', ...accepted(T0), ['recorded', 0, record(0, 'SUCCESS')], sent(T0 + 1_000, OTHER)],
    ['6: attempt 0 has no record', ['finish', 0, { ...DELIVERED, records: [] }]],
    ...([false, true] as const).map((overloaded): [string, ...Call[]] => [
      '7: sent before its backoff',
      sent(T0),
      ['answered', 0, answer(T0, { ok: false, overloaded })],
      sent(T0 + (overloaded ? 10 : 5) * MINUTE - 1),
    ]),
    ['7: sent after its deadline', ...accepted(T0 + 181 * MINUTE)],
    ['9: a queue', ['queued', '{"to":"someone@example.test"}']],
    ['1: SUCCESS without an acceptance', ['finish', 0, DELIVERED]],
    ['11: dead, with 2', ['finish', 0, { ...DEAD, letters: 2 }]],
    ['11: not dead, with 1', ['finish', 0, { ...DELIVERED, letters: 1 }]],
    ['11: redrive_count', ['written', 0, SENDING, { ...SENDING, redrive_count: 1 }, T0]],
  ])('reports %s', (violation, ...calls) => {
    const { auditor, tell } = claimed();
    tell(...calls);
    expect(auditor.result().examples.join()).toContain(`invariant ${violation}`);
  });

  it('excuses a duplicate after a death before the record, and after an answer that got lost', () => {
    const { auditor, tell } = claimed();
    const last = answer(T0 + 6 * MINUTE, { ok: false, lost: true });
    tell(...accepted(T0));
    auditor.died(ONE);
    tell(...accepted(T0 + 6 * MINUTE, OTHER).slice(0, 2), ['answered', 0, last], ...accepted(T0 + 20 * MINUTE));
    expect(auditor.result()).toMatchObject({
      violations: 0,
      duplicates: 2,
      duplicates_by_cause: { 'a worker died': 1, 'an answer got lost': 1 },
    });
  });

  it('excuses a duplicate after all storage refused the record, unless it was recorded later', () => {
    const refused = () => {
      const { auditor, tell } = claimed();
      tell(...accepted(T0));
      auditor.refused(ONE);
      return { auditor, tell };
    };
    const [lost, kept, never] = [refused(), refused(), refused()];
    lost.tell(...accepted(T0 + 20 * MINUTE));
    expect(lost.auditor.result()).toMatchObject({
      violations: 0,
      duplicates_by_cause: { 'all storage refused its record': 1 },
    });
    kept.tell(['recorded', 0, record(0, 'SUCCESS')], ...accepted(T0 + 20 * MINUTE));
    expect(kept.auditor.result().examples).toEqual([
      'invariant 5: sent after it was recorded as delivered (notification 0)',
      'invariant 3: a duplicate without a death or a lost answer (notification 0)',
    ]);
    never.tell(['finish', 0, { ...DELIVERED, records: [] }]);
    expect(never.auditor.result().examples).toContainEqual(
      expect.stringMatching(/^invariant 6: attempt \d has no record \(notification 0\)$/),
    );
  });

  it('excuses a retry whose worker died with the answer that it should wait for', () => {
    const { auditor, tell } = claimed();
    tell(sent(T0), ['answered', 0, answer(T0, { ok: false, overloaded: true })]);
    auditor.died(ONE);
    tell(...accepted(T0 + 6 * MINUTE, OTHER));
    expect(auditor.result().examples).toEqual([]);
  });
});
