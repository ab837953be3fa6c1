import { describe, expect, it } from 'vitest';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { begun, openPlaces, type Sending } from '../../../../src/core/newsletter/sending/batch-step.ts';
import { withRefused } from '../../../../src/core/newsletter/sending/refused-recipients.ts';
import { givenUp, stepAtEnd } from '../../../../src/core/newsletter/sending/send-batch.ts';
import { batchFor, chunkState, emailRow } from '../../../support/newsletter/job-rows.ts';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const LATER = '2026-03-01T10:00:30.000Z';
const TURN = '2026-03-01T09:59:00.000Z';
const REFUSAL = { class: 'recipient', reason: 'rejected' } as const;
const HOLD = { for: 'refused', reason: 'rejected', asked: 0, since: TURN, ask_at: TURN } as const;

/** A sender whose batch has one chunk; places of it that were refused for good. */
function sending(codes: string, refused: readonly number[] = [], more: Partial<Sending> = {}, state = {}): Sending {
  const chunks = [chunkState(codes, state)];
  const email = emailRow({ slots: { 0: { batch_id: '00000', since: TURN } } });
  const known = { ...begun(email, batchFor(chunks), '0'), batch: batchFor(chunks), chunks };
  const places = refused.map((n) => [n, REFUSAL] as const);
  return { ...known, refused: withRefused(known.refused, 0, places), ...more };
}
const told = (known: Sending, turn: string): Sending => ({ ...known, refused: { ...known.refused, told: turn } });
const end = (known: Sending, unreadable = false) => stepAtEnd(known, () => unreadable, NOW, DEFAULT_JOB_LIMITS);

describe('at the end of a pass', () => {
  it.each([
    ['ends where nobody is left', sending('sfx'), undefined],
    ['goes on at once where somebody may be sent to', sending('s.'), { kind: 'wait', until: NOW.toISOString() }],
    [
      'waits for a call that another sender began',
      sending('>', [], {}, { call: { call_id: 'c', entries: [0], until: LATER } }),
      { kind: 'wait', until: LATER },
    ],
    ['lets others show whether everybody is refused', sending('s.', [1]), { kind: 'aside' }],
    ['does so again in the turn in which it told', told(sending('s.', [1]), TURN), { kind: 'aside' }],
    [
      'fails the refused when others had their turn',
      told(sending('s.', [1]), 'an earlier turn'),
      { kind: 'fail-refused' },
    ],
    [
      'holds again where everybody was refused for the same before',
      told(sending('s.', [1], { email: emailRow({ hold: HOLD }) }), 'an earlier turn'),
      { kind: 'wait', until: NOW.toISOString(), hold: { for: 'refused', reason: 'rejected', everybody: true } },
    ],
  ])('a batch %s', (_, known, step) => {
    if (step === undefined) expect(end(known)).toBeUndefined();
    else expect(end(known)).toMatchObject(step);
  });

  it('a batch waits for nobody who can never be read, or who used up the tries', () => {
    expect(end(sending('..'), true)).toBeUndefined();
    const tried = sending('s.', [], {}, { tries: { 1: 7 }, reasons: { 1: 'full' } });
    expect(end(tried)).toBeUndefined();
    expect(givenUp(tried, DEFAULT_JOB_LIMITS)).toMatchObject({ kind: 'fail', refusal: { reason: 'full' } });
  });
});

it('a call is for who is pending, has tries left, and was neither tried in this pass nor refused', () => {
  const known = sending('....s', [1], {}, { tries: { 2: 7 } });
  const [state] = known.chunks;
  expect(state && openPlaces(state, { tried: new Set([3]) }, known, DEFAULT_JOB_LIMITS)).toEqual([0]);
});
