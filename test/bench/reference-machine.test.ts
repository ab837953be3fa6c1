import { expect, it } from 'vitest';
import { toReference } from '../../bench/reference-machine.ts';

it.each([
  ['unchanged on an equally fast machine', 470, 100, 100],
  ['halved on a machine with half the speed', 940, 100, 50],
  ['doubled on a machine with twice the speed', 235, 100, 200],
])('CPU time is %s', (_, call_us, cpu, expected) => {
  expect(toReference(call_us)(cpu)).toBe(expected);
});
