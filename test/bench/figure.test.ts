import { describe, expect, it } from 'vitest';
import { inTurns, judge, type Measurement, median, toReference } from '../../tools/bench/figure.ts';

const measured = (changes: Partial<Measurement>): Measurement => ({
  id: 'id',
  what: 'something',
  figure: 4,
  unit: 'WU',
  budget: { max: 4 },
  ...changes,
});

describe('a figure', () => {
  it.each([
    { case: 'below its budget', figure: 3.9, budget: { max: 4 }, met: true },
    { case: 'exactly at its budget', figure: 4, budget: { max: 4 }, met: true },
    { case: 'half as much again as allowed', figure: 6, budget: { max: 4 }, met: false, missed_by: 0.5 },
    { case: 'within a range', figure: 1.05, budget: { min: 0.95, max: 1.05 }, met: true },
    { case: 'below a range', figure: 0.5, budget: { min: 1, max: 2 }, met: false, missed_by: 0.5 },
    {
      case: 'that is no number',
      figure: Number.NaN,
      budget: { max: 4 },
      met: false,
      missed_by: Number.POSITIVE_INFINITY,
    },
  ])('$case: met is $met', ({ figure, budget, met, missed_by }) => {
    const judged = judge(measured({ figure, budget }));
    expect(judged.met).toBe(met);
    expect(judged.missed_by).toBe(missed_by);
  });

  it.each([
    { figure: 4, plain: 203, ratio: 50.75 },
    { figure: 4, plain: 2, ratio: 0.5 },
    { figure: 0, plain: 2, ratio: undefined },
    { figure: 4, plain: undefined, ratio: undefined },
  ])('of $figure beside $plain by the plain reading has the ratio $ratio', ({ figure, plain, ratio }) => {
    expect(judge(measured({ figure, ...(plain !== undefined && { plain }) })).ratio).toBe(ratio);
  });
});

describe('the median', () => {
  it.each([
    { values: [3], expected: 3 },
    { values: [9, 1, 2], expected: 2 },
    { values: [4, 1, 2, 100], expected: 3 },
  ])('of $values is $expected', ({ values, expected }) => expect(median(values)).toBe(expected));

  it('of no values is an error, so that it cannot pass for a figure', () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

it.each([
  ['unchanged on an equally fast machine', 470, 100, 100],
  ['halved on a machine with half the speed', 940, 100, 50],
  ['doubled on a machine with twice the speed', 235, 100, 200],
])('CPU time is %s', (_, call_us, cpu, expected) => expect(toReference([cpu], [call_us])).toEqual([expected]));

it('each CPU time is judged by the GetItem of its own round, and by none is no number', () => {
  expect(toReference([100, 100, 100], [470, 940])).toEqual([100, 50, Number.NaN]);
});

it('candidates take turns, and the rounds to warm up do not count', async () => {
  const order: string[] = [];
  const candidate = (name: string) => async (round: number) => order.push(`${name}${round}`);
  const steps: string[] = [];
  const turns = { warmUp: 1, rounds: 2, step: (round: string) => steps.push(round) };
  const samples = await inTurns({ a: candidate('a'), b: candidate('b') }, turns);
  expect(order).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
  expect(samples).toEqual({ a: [3, 5], b: [4, 6] });
  expect(steps).toEqual(['round 1 of 3', 'round 2 of 3', 'round 3 of 3']);
});
