import { describe, expect, it } from 'vitest';
import { lateAfter, refusedLate } from '../../../../src/core/newsletter/events/late-refusals.ts';
import type { NewsletterEvent } from '../../../../src/core/newsletter/model/batch-events.ts';

const at = (second: number) => `2026-03-01T10:00:${String(second).padStart(2, '0')}.000Z`;
const place = { email_id: 'email-1', batch_id: '00000', chunk: 0 };
const sent = (n: number, second: number) => ({ ...place, n, sent_at: at(second) });
const rejected = (n: number, second: number, reason = 'rejected'): NewsletterEvent => {
  return { ...sent(n, second), kinds: ['rejected'], rejected: reason };
};
const delivered = (n: number, second: number): NewsletterEvent => {
  return { ...sent(n, second), kinds: ['accepted', 'delivered'] };
};
const everybody = (...events: NewsletterEvent[]) => refusedLate([lateAfter({}, events, 3)], 3);

describe('whether everybody was refused late', () => {
  it.each<[string, string | undefined, NewsletterEvent[]]>([
    ['enough in a row', 'rejected', [rejected(0, 1), rejected(1, 2), rejected(2, 3)]],
    ['too few', undefined, [rejected(0, 1), rejected(1, 2)]],
    [
      'one recipient, told again and again',
      undefined,
      [rejected(0, 1), rejected(0, 1), rejected(0, 2), rejected(1, 2)],
    ],
    ['one that went on between', undefined, [rejected(0, 1), delivered(9, 2), rejected(1, 3), rejected(2, 3)]],
    [
      'one that went on before, and is told afterwards',
      'rejected',
      [1, 2, 3].map((n) => rejected(n, n + 1)).concat(delivered(9, 1)),
    ],
    ['one of the same call', undefined, [1, 2, 3].map((n) => rejected(n, 1)).concat(delivered(9, 1))],
    ['different reasons', undefined, [rejected(0, 1), rejected(1, 2), rejected(2, 3, 'rendering_failure')]],
    ["SES's own list", undefined, [0, 1, 2].map((n) => rejected(n, n, 'INVALID_RECIPIENT'))],
    [
      'one that was only accepted',
      'rejected',
      [...[0, 1, 2].map((n) => rejected(n, n)), { ...sent(9, 9), kinds: ['accepted'] }],
    ],
  ])('%s: %s, in whatever order events come', (_, reason, events) => {
    expect(everybody(...events)).toBe(reason);
    expect(everybody(...events.toReversed())).toBe(reason);
  });

  it('counts over batches, and keeps no more than it needs', () => {
    const [a, b] = [lateAfter({}, [rejected(0, 1)], 3), lateAfter({}, [rejected(0, 2), rejected(1, 3)], 3)];
    expect(refusedLate([a, b, {}], 3)).toBe('rejected');
    expect(refusedLate([a, b, lateAfter({}, [delivered(5, 2)], 3)], 3)).toBeUndefined();
    const many = Array.from({ length: 50 }, (_, n) => rejected(n, n));
    expect(lateAfter({}, many, 3)).toEqual({ late_refusals: { rejected: { 47: at(47), 48: at(48), 49: at(49) } } });
  });
});
