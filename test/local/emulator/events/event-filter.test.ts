import { describe, expect, it } from 'vitest';
import { matches, matchesAny } from '../../../../src/local/emulator/events/event-filter.ts';
import type { JsonObject } from '../../../../src/local/support/json.ts';

const row = (image: JsonObject): JsonObject => ({ eventName: 'INSERT', dynamodb: { NewImage: image } });
const on = (image: JsonObject): JsonObject => ({ dynamodb: { NewImage: image } });

describe('event filters', () => {
  it.each<[string, JsonObject, JsonObject, boolean]>([
    ['one of the alternatives', { eventName: ['MODIFY', 'INSERT'] }, row({}), true],
    ['none of the alternatives', { eventName: ['REMOVE'] }, row({}), false],
    ['a nested value', on({ send_status: { S: ['FAILED'] } }), row({ send_status: { S: 'FAILED' } }), true],
    ['a value that is absent', on({ send_status: { S: ['FAILED'] } }), row({}), false],
    ['all keys at once', on({ a: { S: ['1'] }, b: { S: ['2'] } }), row({ a: { S: '1' }, b: { S: '3' } }), false],
    ['exists: false on an absent leaf', on({ work_queue: { S: [{ exists: false }] } }), row({}), true],
    [
      'exists: false on a present leaf',
      on({ work_queue: { S: [{ exists: false }] } }),
      row({ work_queue: { S: 'x' } }),
      false,
    ],
    ['exists: true on a leaf', on({ work_queue: { S: [{ exists: true }] } }), row({ work_queue: { S: 'x' } }), true],
    [
      'exists: true on an object, as on AWS',
      on({ work_queue: [{ exists: true }] }),
      row({ work_queue: { S: 'x' } }),
      false,
    ],
    ['anything-but another value', { a: [{ 'anything-but': ['x', 'y'] }] }, { a: 'z' }, true],
    ['anything-but this value', { a: [{ 'anything-but': ['x', 'y'] }] }, { a: 'x' }, false],
    ['anything-but without a value', { a: [{ 'anything-but': ['x'] }] }, {}, false],
    ['anything-but a prefix', { a: [{ 'anything-but': { prefix: 'due#' } }] }, { a: 'dead#urgent' }, true],
    ['a prefix', { a: [{ prefix: 'due#' }] }, { a: 'due#urgent#1' }, true],
    ['a wildcard', { a: [{ wildcard: '*@*.example' }] }, { a: 'x@y.example' }, true],
    ['a wildcard that ends otherwise', { a: [{ wildcard: '*@*.example' }] }, { a: 'x@y.example2' }, false],
    ['a wildcard whose pieces overlap', { a: [{ wildcard: 'ab*ba' }] }, { a: 'aba' }, false],
    ['anything-but a wildcard', { a: [{ 'anything-but': { wildcard: '*@*' } }] }, { a: '5.1.1 (x)' }, true],
    ['anything-but this wildcard', { a: [{ 'anything-but': { wildcard: '*@*' } }] }, { a: '5.1.1 (x@y)' }, false],
    ['null', { a: [null] }, { a: null }, true],
    ['null that is absent', { a: [null] }, {}, false],
    ['an element of a list', { a: ['x'] }, { a: ['w', 'x'] }, true],
    ['an element of a list of objects', { a: { b: ['x'] } }, { a: [{ b: 'y' }, { b: 'x' }] }, true],
    ['either branch of $or', { $or: [{ a: ['x'] }, { b: ['y'] }] }, { b: 'y' }, true],
    ['no branch of $or', { $or: [{ a: ['x'] }, { b: ['y'] }] }, { b: 'z' }, false],
  ])('decides on %s', (_, pattern, event, expected) => expect(matches(pattern, event)).toBe(expected));

  it('accept every record without a filter, and a record that one of several filters accepts', () => {
    expect(matchesAny([], { a: 1 })).toBe(true);
    expect(matchesAny([{ a: [2] }, { a: [1] }], { a: 1 })).toBe(true);
    expect(matchesAny([{ a: [2] }], { a: 1 })).toBe(false);
  });

  it('refuse an unknown operator instead of guessing', () => {
    expect(() => matches({ a: [{ cidr: '10.0.0.0/8' }] }, { a: 'x' })).toThrow(/cidr/);
  });
});
