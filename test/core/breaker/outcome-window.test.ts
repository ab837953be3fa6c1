import { describe, expect, it } from 'vitest';
import { OutcomeWindow } from '../../../src/core/breaker/breaker-gate.ts';

const WINDOW_MS = 6_000;
const BUCKET_MS = WINDOW_MS / 6;

describe('the window of outcomes', () => {
  it('is empty at first: no samples, no failures', () => {
    expect(new OutcomeWindow(WINDOW_MS).totals(0)).toEqual({ samples: 0, failure_share: 0 });
  });

  it('counts a failed notification once, and every attempt that passed', () => {
    const window = new OutcomeWindow(WINDOW_MS);
    for (const at of [0, BUCKET_MS, 2 * BUCKET_MS]) window.add('a', true, at);
    window.add('b', true, 0);
    for (let i = 0; i < 6; i++) window.add('a', false, i);
    expect(window.totals(2 * BUCKET_MS)).toEqual({ samples: 8, failure_share: 0.25 });
  });

  it.each([
    ['is a sample to the last moment of the window', WINDOW_MS + BUCKET_MS - 1, 1],
    ['is forgotten with its sixth of the window, when that has left it', WINDOW_MS + BUCKET_MS, 0],
  ])('an outcome %s', (_, now, samples) => {
    const window = new OutcomeWindow(WINDOW_MS);
    window.add('a', true, 0);
    expect(window.totals(now).samples).toBe(samples);
  });

  it('shares a sixth with the outcomes before, until that has ended', () => {
    const window = new OutcomeWindow(WINDOW_MS);
    window.add('a', true, 0);
    window.add('b', true, BUCKET_MS - 1);
    window.add('c', true, BUCKET_MS);
    // `b` leaves with `a`, with which its sixth began; `c` began another one.
    expect(window.totals(WINDOW_MS + BUCKET_MS - 1).samples).toBe(3);
    expect(window.totals(WINDOW_MS + BUCKET_MS).samples).toBe(1);
    expect(window.totals(WINDOW_MS + 2 * BUCKET_MS).samples).toBe(0);
  });

  it('keeps a notification that failed again with its last failure', () => {
    const window = new OutcomeWindow(WINDOW_MS);
    window.add('a', true, 0);
    window.add('b', true, 0);
    window.add('a', true, BUCKET_MS);
    expect(window.totals(WINDOW_MS + BUCKET_MS).samples).toBe(1);
    expect(window.totals(WINDOW_MS + 2 * BUCKET_MS).samples).toBe(0);
  });

  it('costs the same per outcome however many failed: a provider that refuses half for hours does not open its breaker', () => {
    const secondsOf = (outcomes: number) => {
      const window = new OutcomeWindow(1e9);
      const began = process.cpuUsage();
      for (let i = 0; i < outcomes; i++) {
        window.add(`id-${i}`, i % 2 === 0, i);
        window.totals(i);
      }
      return process.cpuUsage(began).user / 1e6;
    };
    secondsOf(1_000);
    expect(secondsOf(20_000)).toBeLessThan(1);
  });

  it('forgets for good what has left: a later look at an earlier time does not show it', () => {
    const window = new OutcomeWindow(WINDOW_MS);
    window.add('a', false, 0);
    window.add('b', false, 2 * WINDOW_MS);
    expect(window.totals(BUCKET_MS).samples).toBe(1);
    const looked = new OutcomeWindow(WINDOW_MS);
    looked.add('a', false, 0);
    looked.totals(2 * WINDOW_MS);
    expect(looked.totals(BUCKET_MS).samples).toBe(0);
  });
});
