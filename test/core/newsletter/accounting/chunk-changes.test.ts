import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  acceptUncertain,
  afterDecision,
  applyOutcome,
  claimEntries,
  expireCall,
  type NextState,
  rejectSubmitted,
  returnRefused,
} from '../../../../src/core/newsletter/accounting/chunk-changes.ts';
import { type ChunkState, processedAt } from '../../../../src/core/newsletter/model/batch.ts';
import type { EntryOutcome } from '../../../../src/core/newsletter/model/email-message.ts';
import { chunkState } from '../../../support/newsletter/job-rows.ts';

const AT = '2026-03-01T10:00:00.000Z';
const LATER = '2026-03-01T10:01:00.000Z';
const LATEST = '2026-03-01T10:02:00.000Z';

function changed(state: ChunkState, next: NextState | undefined): ChunkState {
  expect(next, 'something changes').toBeDefined();
  const { email_id, batch_id, chunk } = state;
  return { ...(next ?? state), email_id, batch_id, chunk, version: state.version + 1 };
}

const claimed = (states = '...', call_id = 'call-1') =>
  changed(
    chunkState(states),
    claimEntries(chunkState(states), { call_id, entries: [0, 1, 2], until: LATER }, new Map()),
  );
const outcome = (outcomes: readonly EntryOutcome[], call_id = 'call-1') => ({ call_id, at: AT, outcomes });

describe('a call', () => {
  it('claims its entries and excludes others in the same change', () => {
    const state = chunkState('...');
    const call = { call_id: 'call-1', entries: [0, 2], until: LATER };
    expect(claimEntries(state, call, new Map([[1, 'unsubscribed']]))).toMatchObject({
      states: '>x>',
      reasons: { 1: 'unsubscribed' },
      call,
    });
  });

  it('is recorded entry by entry, and closed', () => {
    const recorded = applyOutcome(
      claimed(),
      outcome([
        { n: 0, state: 'submitted', message_id: 'id-0' },
        { n: 1, state: 'failed', reason: 'message_rejected' },
        { n: 2, state: 'pending', tries: 1 },
      ]),
    );
    expect(recorded).toMatchObject({
      states: 'sf.',
      reasons: { 1: 'message_rejected' },
      tries: { 2: 1 },
      message_ids: { 0: 'id-0' },
      processed_at: AT,
    });
    expect(recorded).not.toHaveProperty('call');
  });

  it('changes nothing when it is recorded again', () => {
    const all = outcome([0, 1, 2].map((n) => ({ n, state: 'submitted', message_id: `id-${n}` })));
    expect(applyOutcome(changed(claimed(), applyOutcome(claimed(), all)), all)).toBeUndefined();
  });

  it('leaves its entries uncertain when it must have ended, and not before', () => {
    expect(expireCall(claimed(), AT)).toBeUndefined();
    expect(expireCall(claimed(), LATER)).toMatchObject({ states: 'uuu', unanswered: { 0: 'call-1', 2: 'call-1' } });
  });
});

describe('the time when a recipient was processed', () => {
  const timesOf = (state: ChunkState) => [...state.states].map((_, n) => processedAt(state, n));
  const call = (state: ChunkState, entries: readonly number[], answered: EntryOutcome['state'], at: string) => {
    const claim = { call_id: at, entries, until: LATER };
    const open = changed(state, claimEntries(state, claim, new Map()));
    const outcomes = entries.map((n) => ({ n, state: answered }));
    return changed(open, applyOutcome(open, { call_id: at, at, outcomes }));
  };
  const [second, third] = ['2026-03-01T10:00:20.000Z', '2026-03-01T10:00:40.000Z'];

  it('is that of its own call, also while it waits, and no other call moves it', () => {
    const first = call(chunkState('....'), [0, 1], 'submitted', AT);
    expect(timesOf(first)).toEqual([AT, AT, undefined, undefined]);
    expect(first.processed, 'a call needs one time').toEqual({});
    const refused = call(first, [2], 'pending', second);
    expect(timesOf(refused), 'refused, and waits').toEqual([AT, AT, second, undefined]);
    const last = call(refused, [2, 3], 'submitted', third);
    expect(timesOf(last)).toEqual([AT, AT, third, third]);
    expect(last.processed).toEqual({ [AT]: [0, 1] });
  });

  it('is that of its own call where the record comes late', () => {
    const open = changed(
      chunkState('..'),
      claimEntries(chunkState('..'), { call_id: 'a', entries: [0], until: AT }, new Map()),
    );
    const lost = changed(open, expireCall(open, second));
    const next = call(lost, [1], 'submitted', third);
    const late = applyOutcome(next, { call_id: 'a', at: AT, outcomes: [{ n: 0, state: 'submitted' }] });
    expect(timesOf(changed(next, late))).toEqual([AT, third]);
  });

  it('is none of a recipient that was excluded before a call, or is to be sent again', () => {
    const first = call(chunkState('.x.'), [0], 'uncertain', AT);
    expect(timesOf(first)).toEqual([AT, undefined, undefined]);
    expect(timesOf(changed(first, afterDecision(first, 'resend')))).toEqual([undefined, undefined, undefined]);
  });

  it('is read from what was stored with one time per chunk', () => {
    const stored = chunkState('sfu.x', { processed_at: second });
    expect(timesOf(stored)).toEqual([second, second, second, undefined, undefined]);
  });
});

describe('an outcome that comes late', () => {
  const uncertain = changed(claimed(), expireCall(claimed(), LATER));

  it.each([
    [{ n: 0, state: 'submitted', message_id: 'id' } as const, 'suu'],
    [{ n: 0, state: 'failed', reason: 'no' } as const, 'fuu'],
    [{ n: 0, state: 'pending' } as const, '.uu'],
  ])('moves the uncertain entries of its own call: %o', (entry, states) => {
    expect(applyOutcome(uncertain, outcome([entry]))).toMatchObject({ states });
  });

  it('of another call moves only what that call had accepted', () => {
    expect(applyOutcome(uncertain, outcome([{ n: 0, state: 'failed' }], 'call-0'))).toBeUndefined();
    expect(applyOutcome(uncertain, outcome([{ n: 0, state: 'pending' }], 'call-0'))).toBeUndefined();
    expect(applyOutcome(uncertain, outcome([{ n: 0, state: 'submitted', message_id: 'id' }], 'call-0'))).toMatchObject({
      states: 'suu',
    });
  });

  it('keeps an entry from being sent again: it is submitted even if an operator decided to resend', () => {
    const resend = changed(uncertain, afterDecision(uncertain, 'resend'));
    expect(resend.states).toBe('...');
    expect(applyOutcome(resend, outcome([{ n: 1, state: 'submitted', message_id: 'id' }]))).toMatchObject({
      states: '.s.',
    });
  });

  it('of an older call decides what the open call left open', () => {
    const open = changed(
      chunkState('...'),
      claimEntries(chunkState('...'), { call_id: 'call-2', entries: [0], until: LATER }, new Map()),
    );
    const known = changed(open, applyOutcome(open, outcome([{ n: 0, state: 'submitted', message_id: 'id' }])));
    expect(known.states).toBe('>..');
    for (const state of ['pending', 'uncertain', 'failed'] as const)
      expect(applyOutcome(known, outcome([{ n: 0, state }], 'call-2')), state).toMatchObject({ states: 's..' });
  });

  it('does not revive what an event rejected', () => {
    const rejected = changed(uncertain, rejectSubmitted(uncertain, new Map([[0, { reason: 'rendering_failure' }]])));
    expect(rejected).toMatchObject({ states: 'fuu', reasons: { 0: 'rendering_failure' } });
    const late = outcome([{ n: 0, state: 'submitted', message_id: 'id' }]);
    expect(applyOutcome(rejected, late)).toBeUndefined();
  });

  it('sends to those again who were refused late with everybody, and takes no older mail for the next one', () => {
    const [reason, message_id] = ['rendering_failure', 'first'];
    const first = new Map([[0, { reason, message_id, sent_at: LATER }]]);
    const next = new Map([[0, { reason, message_id: 'second', sent_at: LATEST }]]);
    const answered = outcome([{ n: 0, state: 'submitted', message_id }]);
    const sent = changed(claimed(), applyOutcome(claimed(), answered));
    const refused = changed(sent, rejectSubmitted(sent, first));
    const back = changed(
      refused,
      returnRefused(refused, () => true),
    );
    expect(back.states[0]).toBe('.');
    expect(applyOutcome(back, answered), 'the first call is told again').toBeUndefined();
    const call = { call_id: 'call-2', entries: [0], until: LATER };
    const open = changed(back, claimEntries(back, call, new Map()));
    const again = (state: EntryOutcome['state'], id?: string) =>
      changed(open, applyOutcome(open, outcome([{ n: 0, state, ...(id && { message_id: id }) }], 'call-2')));
    expect(again('pending').states[0], 'refused this time').toBe('.');
    const lost = again('uncertain');
    expect(rejectSubmitted(lost, first), 'a repeated event, while the second answer is lost').toBeUndefined();
    expect(rejectSubmitted(changed(lost, afterDecision(lost, 'leave')), first)).toBeUndefined();
    expect(rejectSubmitted(lost, next)).toMatchObject({ reasons: { 0: reason }, refused_at: { 0: LATEST } });
    const second = again('submitted', 'second');
    expect(second).toMatchObject({ reasons: {}, message_ids: { 0: 'second' } });
    expect(rejectSubmitted(second, first), 'a repeated event').toBeUndefined();
    const twice = changed(second, rejectSubmitted(second, next));
    const waiting = changed(
      twice,
      returnRefused(twice, () => true),
    );
    expect(applyOutcome(waiting, answered), 'the first call is told again, after the second one').toBeUndefined();
    expect(rejectSubmitted(second, next)).toMatchObject({
      reasons: { 0: reason },
    });
  });
});

describe('uncertain recipients', () => {
  const uncertain = chunkState('uus', { unanswered: { 0: 'a', 1: 'a' } });

  it('are submitted when events show that they were accepted', () => {
    expect(acceptUncertain(uncertain, (n) => n > 0)).toMatchObject({ states: 'uss', unanswered: { 0: 'a' } });
    expect(acceptUncertain(uncertain, () => false)).toBeUndefined();
  });

  it('are left as they are by an operator, once and for all', () => {
    const left = changed(uncertain, afterDecision(uncertain, 'leave'));
    expect(left).toMatchObject({ states: 'uus', reasons: { 0: 'left', 1: 'left' } });
    expect(afterDecision(left, 'leave')).toBeUndefined();
    expect(afterDecision(left, 'resend')).toBeUndefined();
    expect(acceptUncertain(left, () => true)).toMatchObject({ states: 'sss', reasons: {} });
  });
});

describe('since when recipients are uncertain', () => {
  const claimed = (states: string, changes: Partial<ChunkState> = {}) =>
    chunkState(states, { call: { call_id: 'b', entries: [0], until: LATER }, ...changes });
  const lost = (at: string, call_id = 'b') => ({ call_id, at, outcomes: [{ n: 0, state: 'uncertain' as const }] });

  it('is the end of the call that left them so', () => {
    expect(applyOutcome(claimed('>'), lost('2026-03-01T09:00:00.000Z'))).toMatchObject({
      uncertain_at: '2026-03-01T09:00:00.000Z',
    });
    expect(expireCall(claimed('>'), LATER)).toMatchObject({ states: 'u', uncertain_at: LATER });
  });

  it('is the later time where a chunk has two, and no outcome of others moves it', () => {
    const older = { uncertain_at: '2026-03-01T08:00:00.000Z', unanswered: { 1: 'a' } };
    const both = changed(claimed('>u.', older), applyOutcome(claimed('>u.', older), lost('2026-03-01T09:00:00.000Z')));
    expect(both.uncertain_at).toBe('2026-03-01T09:00:00.000Z');
    const again = { ...lost('2026-03-01T08:30:00.000Z', 'a'), outcomes: [{ n: 1, state: 'uncertain' as const }] };
    expect(applyOutcome(both, again)?.uncertain_at).toBe('2026-03-01T09:00:00.000Z');
    const told = { call_id: 'c', at: LATER, outcomes: [{ n: 2, state: 'submitted' as const }] };
    expect(applyOutcome(both, told)?.uncertain_at).toBe('2026-03-01T09:00:00.000Z');
  });

  it('is forgotten with the last of them', () => {
    const uncertain = chunkState('uu', { uncertain_at: LATER });
    expect(acceptUncertain(uncertain, (n) => n > 0)).toHaveProperty('uncertain_at', LATER);
    expect(acceptUncertain(uncertain, () => true)).not.toHaveProperty('uncertain_at');
    expect(afterDecision(uncertain, 'resend')).not.toHaveProperty('uncertain_at');
  });
});

it('any changes in any order never take back what was submitted, but by an event that rejected it', () => {
  const entry = fc.record({
    n: fc.nat({ max: 2 }),
    state: fc.constantFrom('submitted', 'failed', 'uncertain', 'pending'),
  });
  const step = fc.oneof(
    fc.record({ do: fc.constant('claim' as const), call: fc.constantFrom('a', 'b', 'c'), n: fc.nat({ max: 2 }) }),
    fc.record({ do: fc.constant('record' as const), call: fc.constantFrom('a', 'b', 'c'), entry }),
    fc.record({ do: fc.constantFrom('expire' as const, 'accept' as const, 'resend' as const, 'leave' as const) }),
  );
  let reached = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20, size: 'max' }), (steps) => {
      let state = chunkState('...');
      for (const action of steps) {
        const before = state.states;
        const next = nextOf(state, action);
        if (next !== undefined) state = changed(state, next);
        expect(state.states).toHaveLength(3);
        // A claim without an open call would never end.
        expect(state.states.includes('>')).toBe(state.call !== undefined);
        [...before].forEach((code, n) => {
          if (code === 's') expect(state.states[n]).toBe('s');
        });
        if (state.states.includes('s') && state.states.includes('u')) reached += 1;
      }
    }),
  );
  expect(reached).toBeGreaterThan(0);

  function nextOf(state: ChunkState, action: typeof step extends fc.Arbitrary<infer T> ? T : never) {
    switch (action.do) {
      case 'claim': {
        if (state.call !== undefined || state.states[action.n] !== '.') return undefined;
        return claimEntries(state, { call_id: action.call, entries: [action.n], until: LATER }, new Map());
      }
      case 'record':
        return applyOutcome(state, outcome([{ ...action.entry, message_id: 'id' }].map(withoutId), action.call));
      case 'expire':
        return expireCall(state, LATER);
      case 'accept':
        return acceptUncertain(state, () => true);
      default:
        return afterDecision(state, action.do);
    }
  }
  function withoutId({ message_id, ...entry }: EntryOutcome): EntryOutcome {
    return entry.state === 'submitted' && message_id !== undefined ? { ...entry, message_id } : entry;
  }
});
