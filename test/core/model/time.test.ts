import { expect, it } from 'vitest';
import { parseTime } from '../../../src/core/model/time.ts';

it.each([
  ['2026-02-28T23:59:59.999Z', '2026-02-28T23:59:59.999Z'],
  ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['2026-03-01T00:30:00+09:00', '2026-02-28T15:30:00.000Z'],
  ['2026-02-28T23:30:00-05:00', '2026-03-01T04:30:00.000Z'],
  ['2025-06-01 10:30:00', '2025-06-01T10:30:00.000Z'],
])('reads %s', (text, time) => {
  expect(parseTime(text)?.toISOString()).toBe(time);
});

it.each([
  '2026-02-30T09:00:00Z',
  '2026-02-29T09:00:00+09:00',
  '2026-04-31 09:00:00',
  '2026-02-32T09:00:00Z',
  '2026-13-01T09:00:00Z',
  'yesterday',
])('refuses %s: no calendar has this time', (text) => {
  expect(parseTime(text)).toBeUndefined();
});
