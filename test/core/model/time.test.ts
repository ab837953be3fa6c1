import { expect, it, vi } from 'vitest';
import { isTimeZone, parseTime } from '../../../src/core/model/time.ts';

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
  '9999-12-31T23:59:59-05:00',
  '0000-01-01T00:00:00+09:00',
])('refuses %s: no calendar has this time', (text) => {
  expect(parseTime(text)).toBeUndefined();
});

it.each([
  ['2025-06-01 10:30:00', 'Asia/Tokyo', '2025-06-01T01:30:00.000Z'],
  ['2025-06-01 08:30:00', 'Asia/Tokyo', '2025-05-31T23:30:00.000Z'],
  ['2025-06-01T10:30', 'Asia/Kolkata', '2025-06-01T05:00:00.000Z'],
  ['2025-06-01 10:30:00', 'America/New_York', '2025-06-01T14:30:00.000Z'],
  ['2025-12-01 10:30:00', 'America/New_York', '2025-12-01T15:30:00.000Z'],
  // The hour that summer time skips, and a moment on either side of its end.
  ['2025-03-09 02:30:00', 'America/New_York', '2025-03-09T07:30:00.000Z'],
  ['2025-11-02 00:59:59', 'America/New_York', '2025-11-02T04:59:59.000Z'],
  ['2025-11-02 02:00:00', 'America/New_York', '2025-11-02T07:00:00.000Z'],
  ['2025-06-01T10:30:00Z', 'Asia/Tokyo', '2025-06-01T10:30:00.000Z'],
  ['2025-06-01T10:30:00+01:00', 'Asia/Tokyo', '2025-06-01T09:30:00.000Z'],
])('reads %s by clocks of %s', (text, zone, time) => {
  expect(parseTime(text, zone)?.toISOString()).toBe(time);
});

it.each([
  ['Asia/Tokyo', true],
  ['UTC', true],
  ['US/Eastern', true],
  ['Tokyo', false],
  ['', false],
])('knows whether %s is a time zone: %s', (name, is) => {
  expect(isTimeZone(name)).toBe(is);
});

it.each(['UTC', 'Asia/Tokyo'])(
  'knows the time zone %s without a date format, which a cold start would wait for',
  (name) => {
    const format = vi.spyOn(Intl, 'DateTimeFormat');
    expect(isTimeZone(name)).toBe(true);
    expect(format).not.toHaveBeenCalled();
    format.mockRestore();
  },
);
