import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import * as v from 'valibot';
import { expect, it, vi } from 'vitest';
import { moment } from '../../../src/application/contract/api/intake.ts';
import { isoBefore, isTimeZone, parseTime } from '../../../src/core/model/time.ts';
import { parseMoment } from '../../../src/terminal/option-values.ts';
import { TIMES } from '../../corpus/times/cases.ts';
import { mutated } from '../../support/mutated.ts';

it.each(TIMES)('reads $text by clocks of $zone: $why', ({ text, zone, moment: meant }) => {
  expect(parseTime(text, zone)?.toISOString()).toBe(meant);
});

it('whatever becomes of a time of the corpus, it is none, or one that stores can order', () => {
  const pieces = ['', 'T', ' ', ':', '-', '+', 'Z', '.', '0', '1', '2', '3', '9', '99', '\u0660', '\n', '−'];
  const zone = fc.constantFrom(...TIMES.map((one) => one.zone));
  let taken = 0;
  fc.assert(
    fc.property(
      mutated(
        TIMES.map(({ text }) => text),
        pieces,
      ),
      zone,
      (text, where) => {
        const found = parseTime(text, where)?.toISOString();
        if (found === undefined) return;
        taken += 1;
        expect(found).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(parseTime(found, where)?.toISOString()).toBe(found);
      },
    ),
    { numRuns: 1_000 },
  );
  expect(taken).toBeGreaterThan(10);
});

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
