import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { roomLeft, rowBytes, utf8Bytes } from '../../../src/core/model/work/row-size.ts';

describe('the size of a row', () => {
  it('counts a text as UTF-8, also half a surrogate pair', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', size: 'medium' }), (text) => {
        expect(utf8Bytes(text)).toBe(Buffer.byteLength(text));
      }),
      { examples: [['é'], ['件'], ['👍'], ['\u07ff\u0800']] },
    );
  });

  it('counts names and values as DynamoDB does', () => {
    expect(rowBytes({ a: 'xy', flag: true, none: null, n: 12345, big: 1_835_432_940, minus: -1 })).toBe(
      3 + 5 + 5 + (1 + 4) + (3 + 6) + (5 + 2),
    );
    // 3 for the map, 1 per entry, then names and values.
    expect(rowBytes({ delivery_by_attempt: { 0: 'seen', 11: 'bounced' } })).toBe(19 + 3 + 2 + (1 + 4) + (2 + 7));
    expect(rowBytes({ a: undefined })).toBe(0);
  });

  it.each([
    [1000, 24],
    [1024, 0],
    [1025, 1023],
    [2048, 0],
  ])('of %i bytes leaves %i of its write unit', (bytes, room) => {
    expect(roomLeft(bytes)).toBe(room);
  });
});
