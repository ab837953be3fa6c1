import { describe, expect, it } from 'vitest';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import type { Refusal } from '../../../../src/core/newsletter/model/provider.ts';
import { hasUsedUpTries, judgeAnswer } from '../../../../src/core/newsletter/sending/judge-answer.ts';
import { chunkState } from '../../../support/newsletter/job-rows.ts';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const at = (ms: number) => new Date(NOW.getTime() + ms).toISOString();
const given = (provider_failures = 0, entries = [0, 1], tries = {}, tries_before = 0) => ({
  is_accepted: false,
  entries,
  tries_before,
  state: chunkState('>>', { tries }),
  provider_failures,
  post_is_known: true,
  limits: DEFAULT_JOB_LIMITS,
  now: NOW,
});
const refusal = (kind: Refusal['class']): Refusal => ({ class: kind, reason: `because_${kind}` });
const refused = (kind: Refusal['class'], context = given()) =>
  judgeAnswer({ kind: 'refused', refusal: refusal(kind) }, context);

describe('a call that the provider refused as a whole', () => {
  it.each(['transient', 'overloaded', 'throttled', 'quota', 'settings', 'content', 'recipient'] as const)(
    'leaves all its recipients pending: %s',
    (kind) => expect(refused(kind).outcomes.map(({ state }) => state)).toEqual(['pending', 'pending']),
  );

  it('is halved for its content until the bad entry stands alone, which fails with the reason', () => {
    expect(refused('content')).toMatchObject({ halve: true });
    expect(refused('content', given(0, [1]))).toEqual({
      outcomes: [{ n: 1, state: 'failed', reason: 'because_content' }],
      provider_failures: 0,
    });
    const unknown = { ...given(0, [1]), post_is_known: false };
    expect(refused('content', unknown), 'the post may be the reason').toEqual({
      outcomes: [{ n: 1, state: 'pending' }],
      suspect: refusal('content'),
      provider_failures: 0,
    });
  });

  it.each([
    [0, 10_000],
    [1, 20_000],
    [5, 320_000],
  ])('is tried again after 10 s, doubling: %i refusals before', (failures, ms) => {
    expect(refused('transient', given(failures))).toMatchObject({
      provider_failures: failures + 1,
      stop: { kind: 'wait', until: at(ms), everyone: false },
    });
  });

  it('fails the batch after 6 repetitions, after 30 for an overloaded provider', () => {
    expect(refused('transient', given(6)).stop).toMatchObject({ kind: 'fail' });
    expect(refused('overloaded', given(6)).stop).toMatchObject({ kind: 'wait' });
    expect(refused('overloaded', given(29)).stop).toMatchObject({ kind: 'wait' });
    expect(refused('overloaded', given(30)).stop).toMatchObject({ kind: 'fail' });
  });

  it.each(['throttled', 'quota'] as const)('costs no try and holds the whole email for a while: %s', (kind) => {
    expect(refused(kind, given(3))).toMatchObject({
      provider_failures: 3,
      limited: kind,
      stop: { kind: 'wait', everyone: true },
    });
  });

  it('fails the batch at once where an operator has to mend something', () => {
    expect(refused('settings').stop).toMatchObject({ kind: 'fail', refusal: { reason: 'because_settings' } });
  });
});

describe('a call that was answered entry by entry', () => {
  const answered = (kinds: readonly (Refusal['class'] | 'ok')[], tries = {}, tries_before = 0) =>
    judgeAnswer(
      {
        kind: 'answered',
        entries: kinds.map((kind, i) =>
          kind === 'ok' ? { accepted: true, message_id: `id-${i}` } : { accepted: false, refusal: refusal(kind) },
        ),
      },
      given(5, [0, 1], tries, tries_before),
    );

  it('lets one bad recipient fail none of the others, and ends a row of refusals', () => {
    expect(answered(['ok', 'recipient'])).toEqual({
      outcomes: [
        { n: 0, state: 'submitted', message_id: 'id-0' },
        { n: 1, state: 'failed', reason: 'because_recipient' },
      ],
      provider_failures: 0,
    });
  });

  it.each([
    [undefined, 0, 1, false],
    [5, 0, 6, false],
    [6, 0, 7, true],
    [7, 7, 8, false],
    [2, 7, 8, false],
    [13, 7, 14, true],
  ])(
    'tries a recipient again that was refused for the time being, 6 times after each retry: %s tries, %i before it',
    (made, before, next, given_up) => {
      const outcome = answered(['ok', 'transient'], { ...(made !== undefined && { 1: made }) }, before).outcomes[1];
      expect(outcome).toEqual({ n: 1, state: 'pending', tries: next, reason: 'because_transient' });
      const state = chunkState('s.', { tries: { 1: next } });
      expect(hasUsedUpTries(state, 1, { tries_before: before }, DEFAULT_JOB_LIMITS), 'waits for a retry').toBe(
        given_up,
      );
    },
  );

  it('keeps what a quota cut off for later, without a try', () => {
    const judged = answered(['ok', 'quota'], { 1: 6 });
    expect(judged.outcomes[1]).toEqual({ n: 1, state: 'pending' });
    expect(judged.stop).toMatchObject({ kind: 'wait', everyone: true, until: at(DEFAULT_JOB_LIMITS.quota_ms) });
  });

  it('takes an entry without an answer for uncertain', () => {
    expect(answered(['ok']).outcomes[1]).toEqual({ n: 1, state: 'uncertain' });
  });
});

describe('an identity that is not verified', () => {
  const entry = (accepted: boolean) =>
    accepted ? ({ accepted, message_id: 'id' } as const) : ({ accepted, refusal: refusal('unverified') } as const);
  const answered = (...entries: boolean[]) => ({ kind: 'answered', entries: entries.map(entry) }) as const;

  it('is the recipient where others of the call were accepted, or others before: the rest goes on', () => {
    const [among, alone] = [
      judgeAnswer(answered(true, false), given()),
      judgeAnswer(answered(false), { ...given(0, [1]), is_accepted: true }),
    ];
    for (const judged of [among, alone]) {
      expect(judged.outcomes.at(-1)).toEqual({ n: 1, state: 'failed', reason: 'because_unverified' });
      expect(judged).not.toHaveProperty('stop');
    }
  });

  it('is the sender where nobody was accepted: the batch fails, and everybody stays to be sent to', () => {
    const judged = judgeAnswer(answered(false, false), given());
    expect(judged.outcomes.map(({ state }) => state)).toEqual(['pending', 'pending']);
    expect(judged.stop).toMatchObject({ kind: 'fail' });
    expect(refused('unverified').stop).toMatchObject({ kind: 'fail' });
  });

  it('is found among the recipients of a call that was refused as a whole', () => {
    expect(refused('unverified', { ...given(), is_accepted: true })).toMatchObject({ halve: true });
    expect(refused('unverified', { ...given(0, [1]), is_accepted: true }).outcomes).toEqual([
      { n: 1, state: 'failed', reason: 'because_unverified' },
    ]);
  });
});

it('takes a call without an answer for uncertain, all of it', () => {
  const judged = judgeAnswer({ kind: 'unknown', error: 'TimeoutError' }, given());
  expect(judged.outcomes).toEqual([0, 1].map((n) => ({ n, state: 'uncertain' })));
  expect(judged).not.toHaveProperty('stop');
});
