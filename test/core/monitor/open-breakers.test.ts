import { expect, it } from 'vitest';
import { opened } from '../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY as policy } from '../../../src/core/breaker/breaker-policy.ts';
import { openByChannel } from '../../../src/core/monitor/open-breakers.ts';
import { breakerStatus } from '../../../src/core/operator/views/breaker-status.ts';
import { at, T0 } from '../../support/rows.ts';

const MINUTE = 60_000;
const breaker = opened({ id: 'webhook#IC1', error_type: 'SERVER_OVERLOAD' }, undefined, { now: T0, policy });
const { express, standard } = breaker.lines;
const holding = { ...breaker, lines: { express, standard: { ...standard, slots: 500 * 60 * 60 } } };

it.each([
  ['has just opened', breaker, 1, 1],
  ['has nothing to hold for an hour', breaker, 61, 0],
  ['holds what comes in an hour', holding, 61, 1],
  ['held what has come back since', holding, 130, 0],
])('of a breaker that %s, monitor and status say so', (_, one, minutes, open) => {
  const now = at(minutes * MINUTE);
  expect(openByChannel([one], now).webhook).toBe(open);
  expect(breakerStatus([one], now)).toHaveLength(open);
});
