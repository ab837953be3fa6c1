import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clip } from '../../../src/core/model/text.ts';

describe('a shortened text', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['a😀b', 3, 'a…'],
    ['😀😀', 4, '😀😀'],
    ['😀😀😀', 4, '😀…'],
    ['a\ud83d', 3, 'a\ufffd'],
  ])('of %j in %i characters is %j', (text, length, expected) => {
    expect(clip(text, length)).toBe(expected);
  });

  it('is what storage gives back: no half of a surrogate pair, whatever the text', () => {
    const unit = fc.constantFrom('a', '😀', '\ud83d', '\ude00', '件');
    fc.assert(
      fc.property(fc.string({ unit }), fc.integer({ min: 1, max: 12 }), (text, length) => {
        const clipped = clip(text, length);
        expect(clipped.isWellFormed()).toBe(true);
        expect(clipped.length).toBeLessThanOrEqual(length);
      }),
    );
  });
});
