import { expect, it } from 'vitest';
import { historyKeys, isGone } from '../../../src/core/model/history-index.ts';
import { expiresAt } from '../../../src/core/model/time.ts';
import { at, T0 } from '../../support/rows.ts';

const YEARS = 730 * 86_400;

it('an item expires after two years, in whole seconds since 1970', () => {
  expect(expiresAt(new Date(0))).toBe(63_072_000);
  expect(expiresAt(at(999))).toBe(T0.getTime() / 1000 + YEARS);
});

it.each([
  ['of its creation', T0, undefined, T0],
  ['from which it is kept, if that is later', T0, at(5_000), at(5_000)],
  ['of its creation, if that is later', at(5_000), T0, at(5_000)],
])('a row expires two years after the time %s', (_, created, kept_from, from) => {
  const keys = historyKeys({ log_id: 'log-1', tenant_id: 'tenant-1' }, created, kept_from && { kept_from });
  expect(keys.expires_at).toBe(expiresAt(from));
});

it('a row is gone from the second of its expiry on, also while DynamoDB has not deleted it', () => {
  const row = { expires_at: T0.getTime() / 1000 };
  expect([isGone(row, at(-1)), isGone(row, T0), isGone({}, T0)]).toEqual([false, true, false]);
});
