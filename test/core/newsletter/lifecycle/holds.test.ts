import { describe, expect, it } from 'vitest';
import {
  afterAnswer,
  afterHang,
  afterRefusals,
  afterSilence,
  probeAt,
} from '../../../../src/core/newsletter/lifecycle/holds.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { at, iso, T0 } from '../../../support/rows.ts';

const LIMITS = { ...DEFAULT_JOB_LIMITS, concurrency: 2, call_timeout_ms: 30_000, longest_hold_ms: 240_000 };
const email = (columns: Partial<Email> = {}): Email => ({ slots: {}, ...columns }) as Email;
const hold = { for: 'refused', asked: 3, since: iso(-60_000), ask_at: iso(0) } as const;

describe('what an email learns of its provider', () => {
  it.each([
    ['one call without an answer is an accident', {}, { unanswered: 1, probing: false }, { calls: 1 }],
    [
      'two are a sign, also from two slots',
      { silence: { calls: 2 } },
      { unanswered: 1, probing: false },
      { calls: 2, probes: 0 },
    ],
    [
      'whoever asks meanwhile makes the pause longer',
      { silence: { calls: 2, probes: 4, until: iso(0) } },
      { unanswered: 3, probing: true },
      { calls: 3, probes: 5 },
    ],
  ])('%s', (_, columns, sender, silence) => {
    const { set } = afterSilence(email(columns), sender, T0, LIMITS);
    expect(set.silence).toMatchObject(silence);
    expect(probeAt(set) === undefined).toBe(!('probes' in silence));
    expect((set.silence?.until ?? '') <= at(LIMITS.longest_hold_ms).toISOString()).toBe(true);
  });

  it('gives away no more slots of calls that hang than there are, and forgets those that are over', () => {
    const [first, second, over] = [iso(-1_000), iso(-29_000), iso(-30_001)];
    expect(afterHang(email(), T0, LIMITS)?.set).toEqual({ silence: { calls: 1 }, hung_at: [T0.toISOString()] });
    expect(afterHang(email({ hung_at: [over, first] }), T0, LIMITS)?.set.hung_at).toEqual([first, T0.toISOString()]);
    expect(afterHang(email({ hung_at: [first, second] }), T0, LIMITS)).toBeUndefined();
  });

  const accepted = { isAccepted: true, hasRefused: false };
  it.each([
    ['nothing was in the way', {}, accepted, undefined],
    ['a refusal ends only a silence', { silence: { calls: 2 }, hold }, { ...accepted, isAccepted: false }, ['silence']],
    ['an acceptance ends every hold', { silence: { calls: 2 }, hold }, accepted, ['silence', 'hold']],
    ['but one of which events told', { hold: { ...hold, late: true } }, accepted, undefined],
  ] as const)('%s', (_, columns, call, remove) => {
    expect(afterAnswer(email(columns), call)?.remove).toEqual(remove);
  });

  it('begins another round where everybody was refused, and keeps the round where some were', () => {
    const refusals = { round: 2, batches: { '00001': { bounced: 3 } } };
    expect(afterAnswer(email({ refusals, hold }), accepted)?.set).toEqual({ refusals: { round: 3, batches: {} } });
    expect(afterAnswer(email({ refusals }), accepted)?.set).toEqual({ refusals: { round: 2, batches: {} } });
    const told = afterRefusals(email({ refusals }), '00002', { bounced: 1 }).set.refusals;
    expect(told).toEqual({ round: 2, batches: { '00001': { bounced: 3 }, '00002': { bounced: 1 } } });
  });
});
