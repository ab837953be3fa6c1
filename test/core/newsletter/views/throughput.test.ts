import { describe, expect, it } from 'vitest';
import { throughputOf, withSample } from '../../../../src/core/newsletter/accounting/counts.ts';
import type { ProgressSample } from '../../../../src/core/newsletter/model/batch.ts';

const at = (second: number) => new Date(second * 1_000);
/** The samples of a batch that is counted each second. */
function sampled(from: number, to: number, doneAt: (second: number) => number): readonly ProgressSample[] {
  let samples: readonly ProgressSample[] = [];
  for (let second = from; second <= to; second++) samples = withSample(samples, at(second), doneAt(second));
  return samples;
}

describe('the samples of a batch', () => {
  it('are at most eight, ten seconds apart, and the last one is the newest', () => {
    const samples = sampled(1_000, 1_200, (second) => second - 1_000);
    expect(samples).toHaveLength(8);
    expect(samples.at(-1)).toEqual({ at: 1_200, done: 200 });
    const steps = samples.slice(1, -1).map((sample, i) => sample.at - (samples[i]?.at ?? 0));
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(10);
  });

  it('begin anew after a pause of more than a minute', () => {
    expect(withSample([{ at: 1_000, done: 5 }], at(1_061), 9)).toEqual([{ at: 1_061, done: 9 }]);
    expect(withSample([{ at: 1_000, done: 5 }], at(1_060), 9)).toHaveLength(2);
  });
});

describe('the throughput', () => {
  it('is what all batches did in the last minute', () => {
    const one = { progress: sampled(1_000, 1_100, (second) => 3 * (second - 1_000)) };
    const two = { progress: sampled(1_000, 1_100, (second) => 2 * (second - 1_000)) };
    expect(throughputOf([one, two], at(1_100))).toBeCloseTo(5, 1);
  });

  it('counts the time since the last sample, so that it falls while nothing is done', () => {
    const one = { progress: sampled(1_000, 1_100, (second) => 6 * (second - 1_000)) };
    expect(throughputOf([one], at(1_130))).toBeCloseTo(3, 0);
    expect(throughputOf([one], at(1_161))).toBeUndefined();
  });

  it('is not known in the first five seconds, and without a batch in work', () => {
    const one = { progress: sampled(1_000, 1_004, () => 9) };
    expect(throughputOf([one], at(1_004))).toBeUndefined();
    expect(throughputOf([], at(1_004))).toBeUndefined();
    expect(throughputOf([{}], at(1_004))).toBeUndefined();
  });

  it('never falls below zero when recipients become pending again', () => {
    const one = { progress: [...sampled(1_000, 1_020, () => 50), { at: 1_030, done: 20 }] };
    expect(throughputOf([one], at(1_030))).toBe(0);
  });
});
