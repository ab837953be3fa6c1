import { describe, expect, it } from 'vitest';
import { ERROR_POLICY, ERROR_TYPES, policyOf } from '../../../src/core/model/error-types.ts';
import { type ForeignRow, priorityOf } from '../../../src/core/model/foreign-row.ts';
import { entryOf } from '../../../src/core/model/look-up.ts';

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
  it.each(ERROR_TYPES)('%s is that of the table', (type) => {
    expect(policyOf(type)).toBe(ERROR_POLICY[type]);
  });

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

describe('the priority of a row', () => {
  it.each<[ForeignRow, string]>([
    [{ priority: 'urgent', priority_level: 'LOW' }, 'urgent'],
    [{ priority: 'constructor', priority_level: 'LOW' }, 'info'],
    [{ priority_level: 'HIGH' }, 'important'],
    ...[...INHERITED, 5, null, {}].map((priority_level) => [{ priority_level }, 'normal'] as [ForeignRow, string]),
  ])('of %j is %s', (row, priority) => {
    expect(priorityOf(row)).toBe(priority);
  });
});
