import { expect, it } from 'vitest';
import { toReference } from '../../bench/reference-machine.ts';

it.each([
  ['as it is on a machine as fast', 470, 100, 100],
  ['halved on one at half the speed', 940, 100, 50],
  ['more on a faster one', 235, 100, 200],
])('CPU time is %s', (_, call_us, cpu, expected) => {
  expect(toReference(call_us)(cpu)).toBe(expected);
});
