import { describe, expect, it } from 'vitest';
import { type Breaker, opened, phaseOf, reopened, shownPhaseOf, slotTime } from '../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import { at, iso, T0 } from '../../support/rows.ts';

const policy = { ...DEFAULT_BREAKER_POLICY, interval_ms: 30_000, drain_per_second: 2, most_per_second: 2 };
const ID = 'webhook#IC1';
const open = (): Breaker => opened({ id: ID, error_type: 'UNKNOWN' }, undefined, { now: T0, policy });
const draining = (changes: Partial<Breaker>): Breaker => ({ ...open(), state: 'draining', ...changes });

describe('the phase of a breaker', () => {
  it.each([
    ['before its lines are empty', -1, 'draining'],
    ['from the moment when its lines are empty', 0, 'closed'],
  ] as const)('that drains, %s', (_, ms, phase) => {
    const later = iso(60_000);
    expect(phaseOf(draining({ drained_at: iso(), probe_at: later }), at(ms))).toBe(phase);
    // One that was stored without its end drains until the time of its probe.
    const { drained_at: _end, ...without } = draining({ probe_at: iso() });
    expect(phaseOf(without, at(ms))).toBe(phase);
  });

  it('of one that is open is its state', () => expect(phaseOf({ ...open(), drained_at: iso() }, at(1))).toBe('open'));
});

describe('the phase of a breaker that operators are told', () => {
  const HOUR = 3_600_000;
  // Twenty slots a second: the last of 40 is let go two seconds after the first.
  const long = { from: iso(), slots: 40 };
  const empty = { from: iso(), slots: 0 };
  const before = { ...open(), probe_at: iso(), per_second: 20 };
  it.each([
    ['its probe', { express: empty, standard: empty }, 0],
    ['the last slot of the express lane', { express: long, standard: empty }, 2_000],
    ['the last slot of the standard lane', { express: empty, standard: long }, 2_000],
  ])('is open until an hour after %s, and closed then', (_, lines, last_ms) => {
    expect(shownPhaseOf({ ...before, lines }, at(last_ms + HOUR))).toBe('open');
    expect(shownPhaseOf({ ...before, lines }, at(last_ms + HOUR + 1))).toBe('closed');
  });

  it('of one that drains is its own, however long nothing came', () => {
    const drained_at = iso(3 * HOUR);
    expect(shownPhaseOf({ ...before, state: 'draining', drained_at }, at(2 * HOUR))).toBe('draining');
  });
});

describe('a breaker that opens', () => {
  it('begins anew unless the one before drains: not with that one’s interval', () => {
    const before = { ...open(), state: 'closed', version: 4, interval_ms: 120_000 } as const;
    expect(opened({ id: ID, error_type: 'NETWORK_TIMEOUT' }, before, { now: at(5_000), policy })).toMatchObject({
      state: 'open',
      version: 5,
      since: iso(5_000),
      interval_ms: 30_000,
    });
  });

  it('lets the next slot of each line go at the end of its interval, however many were given out', () => {
    const line = { from: iso(), slots: 41 };
    const now = at(10_000);
    const again = reopened({ ...open(), lines: { express: line, standard: { ...line, slots: 0 } } }, 'UNKNOWN', {
      now,
      policy,
    });
    const until = now.getTime() + 60_000;
    expect(slotTime(again.lines.express, 41, 2)).toBe(until);
    expect(slotTime(again.lines.standard, 0, 2)).toBe(until);
  });

  it('keeps the rate of its lines when a probe fails: nothing has shown that the provider takes less', () => {
    const fast = { ...open(), per_second: 280 };
    expect(reopened(fast, 'UNKNOWN', { now: at(1_000), policy }).per_second).toBe(280);
  });

  it('moves no slot of a line back that is longer than its interval', () => {
    const from = iso(3_600_000);
    const lines = { express: { from, slots: 1 }, standard: { from, slots: 1 } };
    expect(reopened({ ...open(), lines }, 'UNKNOWN', { now: T0, policy }).lines).toEqual(lines);
  });

  it.each([
    ['a short line comes round', 60_000, 'doubles', 60_000],
    ['a long line brings notifications all the time', 120_001, 'stays the shortest', 30_000],
  ] as const)('is probed as often as its line allows: where %s, the interval %s', (_, end_ms, __, interval_ms) => {
    const empty = { from: iso(), slots: 0 };
    const lines = { express: empty, standard: { from: iso(end_ms), slots: 0 } };
    const again = reopened({ ...open(), interval_ms: 30_000, lines }, 'UNKNOWN', { now: T0, policy });
    expect(again).toMatchObject({ interval_ms, probe_at: iso(interval_ms) });
  });

  it('is probed less often after it failed while a long line was let go', () => {
    const lines = { express: { from: iso(600_000), slots: 0 }, standard: open().lines.standard };
    const again = reopened(draining({ lines, interval_ms: 30_000 }), 'UNKNOWN', { now: T0, policy });
    expect(again.interval_ms).toBe(60_000);
  });
});
