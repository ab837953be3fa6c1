import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import * as v from 'valibot';
import { expect, it, vi } from 'vitest';
import { moment } from '../../../src/application/contract/api/intake.ts';
import { isoBefore, isTimeZone, parseTime } from '../../../src/core/model/time.ts';
import { parseMoment } from '../../../src/terminal/option-values.ts';

it.each([
  ['2026-02-28T23:59:59.999Z', '2026-02-28T23:59:59.999Z'],
  ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['2026-03-01T00:30:00+09:00', '2026-02-28T15:30:00.000Z'],
  ['2026-02-28T23:30:00-05:00', '2026-03-01T04:30:00.000Z'],
  ['2025-06-01 10:30:00', '2025-06-01T10:30:00.000Z'],
])('reads %s', (text, time) => expect(parseTime(text)?.toISOString()).toBe(time));

it.each([
  '2026-02-30T09:00:00Z',
  '2026-02-29T09:00:00+09:00',
  '2026-04-31 09:00:00',
  '2026-02-32T09:00:00Z',
  '2026-13-01T09:00:00Z',
  'yesterday',
  '9999-12-31T23:59:59-05:00',
  '0000-01-01T00:00:00+09:00',
])('refuses %s: no calendar has this time', (text) => expect(parseTime(text)).toBeUndefined());

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
])('reads %s by clocks of %s', (text, zone, time) => expect(parseTime(text, zone)?.toISOString()).toBe(time));

it.each([
  ['Asia/Tokyo', true],
  ['UTC', true],
  ['US/Eastern', true],
  ['Tokyo', false],
  ['', false],
])('knows whether %s is a time zone: %s', (name, is) => expect(isTimeZone(name)).toBe(is));

it.each(['UTC', 'Asia/Tokyo'])(
  'knows the time zone %s without a date format, which a cold start would wait for',
  (name) => {
    const format = vi.spyOn(Intl, 'DateTimeFormat');
    expect(isTimeZone(name)).toBe(true);
    expect(format).not.toHaveBeenCalled();
    format.mockRestore();
  },
);

it('what people write as a time is a time that stores can order, or is refused, by the API and by commands', () => {
  const WRITTEN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
  const part = (most: number, length = 2) => fc.nat({ max: most }).map((n) => String(n).padStart(length, '0'));
  const shown = fc
    .tuple(
      part(9_999, 4),
      part(13),
      part(32),
      part(25),
      part(61),
      part(61),
      fc.constantFrom('Z', '.000Z', '+14:00', '', '-12:00'),
    )
    .map(([y, m, d, h, min, s, zone]) => `${y}-${m}-${d}T${h}:${min}:${s}${zone}`);
  const ago = fc.tuple(fc.nat(999_999), fc.constantFrom('s', 'm', 'h', 'd')).map(([n, unit]) => `${n}${unit}`);
  const read = (parse: () => string): string | undefined => {
    try {
      return parse();
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidArgumentError);
      return undefined;
    }
  };
  let taken = 0;
  fc.assert(
    fc.property(fc.oneof(shown, ago, fc.string()), (text) => {
      const byApi = v.safeParse(moment, text).success ? parseTime(text)?.toISOString() : undefined;
      if (v.safeParse(moment, text).success) expect(byApi).toMatch(WRITTEN);
      const byCommand = read(() => parseMoment(text));
      if (byCommand === undefined) return;
      taken += 1;
      expect(byCommand).toMatch(WRITTEN);
      expect(isoBefore(byCommand, 31 * 86_400_000)).toMatch(WRITTEN);
    }),
    { examples: [['0000-00-00T00:00:00.000Z'], ['0000-01-01T00:00:00Z'], ['999999d'], ['2026-02-30T00:00:00Z']] },
  );
  expect(taken).toBeGreaterThan(20);
});
