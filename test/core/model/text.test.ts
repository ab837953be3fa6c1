import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { priorityOf } from '../../../src/core/model/channels.ts';
import { ERROR_POLICY, ERROR_TYPES, policyOf } from '../../../src/core/model/error-types.ts';
import type { ForeignRow } from '../../../src/core/model/notification.ts';
import { clip, entryOf, roomLeft, rowBytes, utf8Bytes, withoutAddresses } from '../../../src/core/model/text.ts';
import { anyCharacter } from '../../support/any-character.ts';

describe('a shortened text', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['a😀b', 3, 'a…'],
    ['😀😀', 4, '😀😀'],
    ['😀😀😀', 4, '😀…'],
    ['a\ud83d', 3, 'a\ufffd'],
  ])('of %j in %i characters is %j', (text, length, expected) => expect(clip(text, length)).toBe(expected));

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

it('masks addresses, and nothing of the reasons that this system gives itself', () => {
  expect(withoutAddresses('550 no someone@example.com here')).toBe('550 no … here');
  const files = globSync('src/{core/{delivery,indexing},adapters/{email,slack,teams,webhook,http,secrets}}/**/*.ts');
  const reasons = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:\bmessage: |\brefused(?:ByUs)?\(\s*'\w+',\s*)(['`])([^\n]+?)\1/g)].map(
      ([, , text = '']) => text.replaceAll(/\$\{.*?\}/g, '…'),
    ),
  );
  expect(reasons.length).toBeGreaterThan(10);
  expect(reasons.filter((text) => withoutAddresses(text) !== text)).toEqual([]);
});

it('masks a long word, such as a file in base64, without reading it once per character', () => {
  const began = performance.now();
  expect(withoutAddresses(`${'a'.repeat(50_000)} a@b ${'%25'.repeat(50_000)}@c`)).toBe(`${'a'.repeat(50_000)} … …`);
  expect(performance.now() - began, 'milliseconds; seconds, if each character began a search').toBeLessThan(1_500);
});

const INHERITED = ['constructor', 'toString', 'hasOwnProperty', '__proto__'];

describe('a table, asked by a text that anyone may have stored,', () => {
  it.each([...INHERITED, '', 'b', 5, null, undefined, { a: 1 }])('has no entry under %j', (key) => {
    expect(entryOf({ a: 1 }, key)).toBeUndefined();
  });

  it('gives its own entries', () => {
    expect(entryOf({ a: 1, constructor: 2 }, 'a')).toBe(1);
    expect(entryOf({ a: 1, constructor: 2 }, 'constructor')).toBe(2);
  });
});

describe('the policy of an error type', () => {
  it.each(ERROR_TYPES)('%s is that of the table', (type) => expect(policyOf(type)).toBe(ERROR_POLICY[type]));

  it.each(['full', ...INHERITED])(
    'of %s, which another program wrote, ends a notification and waits for a person',
    (text) => {
      expect(policyOf(text as never)).toEqual({
        class: 'exhausted',
        backoff_factor: 1,
        counted: false,
        dead_letter: true,
        remedy: expect.stringContaining('Another program wrote this reason'),
      });
    },
  );
});

it.each<[ForeignRow, string]>([
  [{ priority: 'urgent', priority_level: 'LOW' }, 'urgent'],
  [{ priority: 'constructor', priority_level: 'LOW' }, 'info'],
  [{ priority_level: 'HIGH' }, 'important'],
  ...[...INHERITED, 5, null, {}].map((priority_level) => [{ priority_level }, 'normal'] as [ForeignRow, string]),
])('the priority of a row of %j is %s', (row, priority) => expect(priorityOf(row)).toBe(priority));

describe('the size of a row', () => {
  it('counts a text as UTF-8, also half a surrogate pair', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, size: 'medium' }), (text) => {
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
  ])('of %i bytes leaves %i of its write unit', (bytes, room) => expect(roomLeft(bytes)).toBe(room));
});
