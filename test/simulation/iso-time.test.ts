import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isoOf, msOf, secondOfDay } from '../../simulation/engine/iso-time.ts';

const times = fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2100, 0, 1) });

it('writes and reads times as Date does, whatever the millisecond', () => {
  fc.assert(
    fc.property(times, (ms) => {
      const text = new Date(ms).toISOString();
      expect(isoOf(ms)).toBe(text);
      expect(msOf(text)).toBe(ms);
      expect(secondOfDay(text, 11)).toBe(Math.floor(ms / 1000) % 86_400);
      expect(secondOfDay(`~${text.slice(11, 19).replaceAll(':', '')}`, 1, 0)).toBe(Math.floor(ms / 1000) % 86_400);
    }),
  );
});

it.each([undefined, '', 7])('has no time for %j', (value) => {
  expect(msOf(value)).toBeNaN();
});
