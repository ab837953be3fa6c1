import { describe, expect, it } from 'vitest';
import { type EmailSeen, NewsletterAuditor } from '../../tools/simulation/audit/newsletter-auditor.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 2, 1);
const EMAIL: EmailSeen = {
  status: 'submitting',
  cancelled_at: undefined,
  paused: false,
  slots: 1,
  active: true,
  due: true,
  holds: false,
  prepared: { recipients: 2, batches: 1 },
};
const DONE: EmailSeen = { ...EMAIL, status: 'submitted', active: false };
const NONE = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };

/** Two recipients; the first one got its mail. */
function oneAccepted() {
  const auditor = new NewsletterAuditor(2);
  const worker = {};
  auditor.called(worker, [0], 0);
  auditor.accepted(0, T0);
  auditor.ended(worker);
  return auditor;
}

type Method = Exclude<keyof NewsletterAuditor, 'result' | 'duplicates'>;
/** What the auditor is told. */
type Call = { [M in Method]: [M, ...Parameters<NewsletterAuditor[M]>] }[Method];

function examples(...calls: Call[]): readonly string[] {
  const auditor = oneAccepted();
  for (const [method, ...args] of calls) (auditor[method] as (...args: unknown[]) => void).apply(auditor, args);
  return auditor.result().examples;
}

describe('the auditor of a newsletter', () => {
  it('finds nothing wrong with one recipient who got the mail and one who was excluded', () => {
    const found = examples(
      ['read', EMAIL, { ...NONE, pending: 1, excluded: 1 }, T0],
      ['read', DONE, { ...NONE, submitted: 1, excluded: 1 }, T0 + MINUTE],
      ['unsubscribed', 1, T0],
      ['finish', 0, 0, 'submitted', undefined],
      ['finish', 1, 0, 'excluded', 'repeated_address'],
      ['end', DONE, { ...NONE, submitted: 1, excluded: 1 }, 1],
    );
    expect(found).toEqual([]);
  });

  const [later, PENDING] = [T0 + 20 * MINUTE, { ...NONE, pending: 2 }];
  it.each<[string, ...Call[]]>([
    ['got the mail twice', ['accepted', 0, T0 + 1]],
    ['although the provider told', ['allowed', 1], ['accepted', 1, T0, true], ['accepted', 1, T0]],
    ['got the mail twice', ['allowed', 0], ['accepted', 0, T0], ['accepted', 0, T0]],
    ['3 batches have a slot', ['read', { ...EMAIL, slots: 3 }, PENDING, T0]],
    ['nothing comes back', ['read', { ...EMAIL, active: false }, PENDING, T0]],
    [
      'idle although it is due',
      ...[T0, later].map((now): Call => ['read', { ...EMAIL, status: 'pending' }, PENDING, now]),
    ],
    [
      'somebody is left to send to',
      ...[T0, later].map((now): Call => ['read', DONE, { ...NONE, pending: 1, submitted: 1 }, now]),
    ],
    ['TypeError', ['threw', 'TypeError: x is undefined']],
    [
      'before the recipients were frozen',
      ['end', { ...EMAIL, cancelled_at: '2026-01-01T00:00:00.000Z', prepared: undefined }, NONE, 0],
    ],
    ['the email is submitted at the end', ['end', { ...DONE, cancelled_at: '2026-01-01T00:00:00.000Z' }, NONE, 1]],
    ['2 batches of 1', ['end', DONE, NONE, 2]],
    ['more than 2 batches', ...[1, 2, 3].map((n): Call => ['called', { n }, [1], 0])],
    [
      'slots were given away for more than 2 calls',
      ...[0, 0, 10_000, 10_000, 20_000].map((at): Call => ['called', { at }, [1], at]),
    ],
    ['more than 50 recipients', ['called', {}, Array<number>(51).fill(1), 0]],
    ['long after the recipient had unsubscribed', ['unsubscribed', 1, T0], ['accepted', 1, T0 + 15 * MINUTE + 1]],
    ['add up to 1 of 2', ['read', EMAIL, { ...NONE, pending: 1 }, T0]],
    ['below zero', ['read', EMAIL, { ...NONE, pending: -1, submitted: 3 }, T0]],
    [
      'fewer are submitted',
      ...[1, 0].map((submitted): Call => ['read', EMAIL, { ...NONE, submitted, pending: 2 - submitted }, T0]),
    ],
    ['an address or a body', ['queued', '{"to":"m1@example.test"}']],
    ['in the table twice', ...[0, 0].map((): Call => ['finish', 0, 0, 'submitted', undefined])],
    ['left over', ['finish', 1, 1, 'pending', undefined]],
    ['nobody got it', ['finish', 1, 1, 'submitted', undefined]],
    ['nobody got it', ['finish', 1, 0, 'submitted', undefined]],
    ['failed, and it was received', ['finish', 0, 0, 'failed', 'refused']],
    ['excluded, and it was received', ['finish', 0, 0, 'excluded', 'suppressed']],
    ['failed without a reason', ['finish', 1, 1, 'failed', undefined]],
    ['is failed at the end', ['end', { ...EMAIL, status: 'failed' }, NONE, 1]],
    ['a member is no recipient', ['end', DONE, NONE, 1]],
    ['count 1 uncertain, and the chunks 0', ['end', DONE, { ...NONE, uncertain: 1 }, 1]],
  ])('reports: %s', (violation, ...calls) => expect(examples(...calls).join()).toContain(violation));

  it('finds nothing wrong with a second mail that an operator allowed while nothing told of the first', () => {
    expect(examples(['allowed', 0], ['accepted', 0, T0])).toEqual([]);
  });

  it.each([
    ['before it could be judged', MINUTE, []],
    ['after it was', 9 * MINUTE, ['newsletter: failed by a refusal that everybody got (recipient 1)']],
  ])('lets a late refusal of everybody fail whoever got it, where the email was cancelled %s', (_, after, expected) => {
    const auditor = new NewsletterAuditor(2, 2, 1);
    auditor.refusedLate(1, [1], T0);
    const cancelled_at = new Date(T0 + after).toISOString();
    auditor.read({ ...EMAIL, cancelled_at }, { ...NONE, failed: 2 }, T0 + after);
    auditor.finish(1, 1, 'failed', 'rejected');
    expect(auditor.result().examples).toEqual(expected);
  });

  it('does not count a worker that has died among the batches at once', () => {
    const [dead, ...alive] = [{}, {}, {}];
    const calls = alive.map((worker): Call => ['called', worker, [1], 0]);
    expect(examples(['called', dead as object, [1], 0], ['ended', dead as object], ...calls)).toEqual([]);
  });
});
