import { describe, expect, it } from 'vitest';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import type { Refusal } from '../../../../src/core/newsletter/model/provider.ts';
import { hasUsedUpTries } from '../../../../src/core/newsletter/sending/batch-step.ts';
import { judgeAnswer } from '../../../../src/core/newsletter/sending/judge-answer.ts';
import { chunkState } from '../../../support/newsletter/job-rows.ts';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const at = (ms: number) => new Date(NOW.getTime() + ms).toISOString();
const given = (provider_failures = 0, entries = [0, 1], tries = {}, tries_before = 0) => ({
  entries,
  tries_before,
  state: chunkState('>>', { tries }),
  provider_failures,
  most: 20,
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

  it.each(['content', 'recipient', 'unverified'] as const)(
    'is halved until the bad entry stands alone, which stays pending until others show whether it is: %s',
    (kind) => {
      expect(refused(kind)).toMatchObject({ step: { kind: 'go-on', most: 1, tried: [] }, refused: [] });
      expect(refused(kind, given(0, [1]))).toEqual({
        outcomes: [{ n: 1, state: 'pending', reason: `because_${kind}` }],
        refused: [[1, refusal(kind)]],
        provider_failures: 0,
        step: { kind: 'go-on', most: 20, tried: [1] },
      });
    },
  );

  it.each([
    [0, 10_000],
    [1, 20_000],
    [5, 320_000],
  ])('is tried again after 10 s, doubling: %i refusals before', (failures, ms) => {
    expect(refused('transient', given(failures))).toMatchObject({
      provider_failures: failures + 1,
      step: { kind: 'wait', until: at(ms) },
    });
  });

  it('fails the batch after 6 repetitions, after 30 for an overloaded provider', () => {
    expect(refused('transient', given(6)).step).toMatchObject({ kind: 'fail' });
    expect(refused('overloaded', given(6)).step).toMatchObject({ kind: 'wait' });
    expect(refused('overloaded', given(29)).step).toMatchObject({ kind: 'wait' });
    expect(refused('overloaded', given(30)).step).toMatchObject({ kind: 'fail' });
  });

  it.each([
    ['throttled', 'rate'],
    ['quota', 'quota'],
  ] as const)('costs no try and holds the whole email for a while: %s', (kind, reason) => {
    expect(refused(kind, given(3))).toMatchObject({
      provider_failures: 3,
      limited: kind,
      step: { kind: 'wait', hold: { for: reason } },
    });
  });

  it.each(['account', 'settings'] as const)(
    'holds the whole email where somebody has to mend something: %s',
    (kind) => {
      const { step } = refused(kind, given(3));
      expect(step).toMatchObject({ kind: 'wait', hold: { for: kind, message: `because_${kind}` } });
    },
  );
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

  it('fails one bad recipient alone where one after it was accepted, and ends a row of refusals', () => {
    expect(answered(['recipient', 'ok'])).toEqual({
      outcomes: [
        { n: 0, state: 'failed', reason: 'because_recipient' },
        { n: 1, state: 'submitted', message_id: 'id-1' },
      ],
      refused: [],
      provider_failures: 0,
      step: { kind: 'go-on', most: 40, tried: [0, 1] },
    });
  });

  it.each(['recipient', 'content', 'unverified'] as const)(
    'leaves open whether who was refused after the last acceptance is refused alone: %s',
    (kind) => {
      expect(answered(['ok', kind])).toEqual({
        outcomes: [
          { n: 0, state: 'submitted', message_id: 'id-0' },
          { n: 1, state: 'pending', reason: `because_${kind}` },
        ],
        refused: [[1, refusal(kind)]],
        provider_failures: 0,
        step: { kind: 'go-on', most: 40, tried: [0, 1] },
      });
    },
  );

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
    expect(judged.step).toMatchObject({ kind: 'wait', hold: { for: 'quota' } });
  });

  it('takes an entry without an answer for uncertain', () => {
    expect(answered(['ok']).outcomes[1]).toEqual({ n: 1, state: 'uncertain' });
  });
});

it('takes a call without an answer for uncertain, all of it', () => {
  const judged = judgeAnswer({ kind: 'unknown', error: 'TimeoutError' }, given());
  expect(judged.outcomes).toEqual([0, 1].map((n) => ({ n, state: 'uncertain' })));
  expect(judged.step).toEqual({ kind: 'go-on', most: 20, tried: [0, 1] });
});
