import { describe, expect, it } from 'vitest';
import { createTokenBuckets, MAX_KEYS } from '../../../src/core/intake/rate-limit.ts';
import { T0 } from '../../support/rows.ts';

function setUp() {
  let now = T0.getTime();
  const take = createTokenBuckets(() => new Date(now));
  const passed = (count: number, key = 'key', limit = 4) =>
    Array.from({ length: count }, () => take(key, limit)).filter((wait) => wait === 0).length;
  const pass = (ms: number) => {
    now += ms;
  };
  return { take, passed, pass };
}

describe('a token bucket', () => {
  it('lets two seconds’ worth through at once, and says when the next token comes', () => {
    const { take, passed, pass } = setUp();
    expect(passed(8)).toBe(8);
    expect(take('key', 4)).toBe(250);
    pass(125);
    expect(take('key', 4)).toBe(125);
    pass(125);
    expect(take('key', 4)).toBe(0);
    expect(take('key', 4)).toBe(250);
  });

  it('fills by the second, and never above two seconds’ worth', () => {
    const { passed, pass } = setUp();
    passed(8);
    pass(1_000);
    expect(passed(8)).toBe(4);
    pass(3_600_000);
    expect(passed(20)).toBe(8);
  });

  it('gives tokens at once again when the clock was set back', () => {
    const { take, passed, pass } = setUp();
    expect(passed(9)).toBe(8);
    pass(-3_600_000);
    expect(take('key', 4)).toBeLessThanOrEqual(250);
    pass(1_000);
    expect(passed(8)).toBe(4);
  });

  it('of a slow key holds one token', () => {
    const { take, pass } = setUp();
    expect([take('slow', 0.1), take('slow', 0.1)]).toEqual([0, 10_000]);
    pass(10_000);
    expect(take('slow', 0.1)).toBe(0);
  });

  it('is a key’s own', () => {
    const { passed } = setUp();
    passed(8, 'a');
    expect([passed(9, 'a'), passed(9, 'b')]).toEqual([0, 8]);
  });

  it('is forgotten only if a thousand other keys were used since', () => {
    const { passed } = setUp();
    passed(8, 'kept');
    passed(8, 'forgotten');
    passed(1, 'kept');
    for (let n = 0; n < MAX_KEYS - 2; n++) passed(1, `other-${n}`);
    expect(passed(8, 'kept')).toBe(0);
    passed(1, 'one more');
    expect(passed(8, 'kept')).toBe(0);
    expect(passed(8, 'forgotten')).toBe(8);
  });
});
