import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../../src/adapters/http/network-classification.ts';

const now = new Date('2026-03-01T09:30:00.000Z');

describe('Retry-After', () => {
  it.each([
    ['seconds', '120', 120_000],
    ['seconds with a fraction, which some send', '1.5', 1_500],
    ['surrounding space', ' 30 ', 30_000],
    ['an HTTP-date', 'Sun, 01 Mar 2026 09:31:00 GMT', 60_000],
    ['the obsolete RFC 850 date', 'Sunday, 01-Mar-26 09:31:00 GMT', 60_000],
    ['the obsolete asctime date, which is UTC too', 'Sun Mar  1 09:31:00 2026', 60_000],
    ['two days, which a stage with longer windows waits', '172800', 172_800_000],
    ['more than the longest window, as that', '999999999', 14 * 86_400_000],
    ['seconds since 1970 (clawhub#407, as ky reads it)', '1772357460', 60_000],
    ['milliseconds since 1970 (cli-printing-press#542)', '1772357460000', 60_000],
    ['a date years ahead, as that, too', 'Tue, 01 Mar 2033 09:31:00 GMT', 14 * 86_400_000],
  ])('is understood as %s', (_, header, expected) => expect(parseRetryAfter(header, now)).toBe(expected));

  it.each([
    undefined,
    '',
    '0',
    '-5',
    'soon',
    '1e9',
    '1772357340',
    '9'.repeat(12),
    '2026-03-01T09:31:00Z',
    'Sun, 01 Mar 2026 09:29:00 GMT',
  ])('sets no bound when it is %j', (header) => expect(parseRetryAfter(header, now)).toBeUndefined());
});
