/** A `Retry-After`, the `Date` beside it, and how many milliseconds it says; absent: none, or nothing that can be read. */
interface RetryAfterCase {
  readonly header: string;
  readonly date?: string;
  readonly ms?: number;
  readonly why: string;
}

const NINE = 'Sat, 21 Nov 2026 09:00:00 GMT';

/** Read at 2026-11-21 09:00 by the clock of who reads. */
export const RETRY_AFTER: readonly RetryAfterCase[] = [
  { header: '7', ms: 7_000, why: 'seconds (RFC 9110 §10.2.3)' },
  { header: ' 7 ', ms: 7_000, why: 'blanks around it' },
  { header: '0.5', ms: 500, why: 'fractions, as some servers write' },
  { header: '0', why: 'no wait' },
  { header: '-5', why: 'no number of seconds' },
  { header: '31536000', ms: 31_536_000_000, why: 'a year: whoever waits has a bound of its own' },
  { header: '9'.repeat(400), ms: Number.POSITIVE_INFINITY, why: 'more than a number holds' },
  { header: '1e9', why: 'not digits' },
  { header: '0x10', why: 'not digits' },
  { header: '7, 8', why: 'two headers in one' },
  { header: 'soon', why: 'nonsense' },
  { header: '', why: 'empty' },
  { header: 'Sat, 21 Nov 2026 09:00:09 GMT', date: NINE, ms: 9_000, why: 'a date, by the clock of the server' },
  { header: 'Sat, 21 Nov 2026 08:00:00 GMT', date: NINE, why: 'over' },
  { header: 'Sun, 21 Nov 2027 09:00:00 GMT', date: NINE, ms: 31_536_000_000, why: 'a year by the clock of the server' },
  { header: 'Sun, 21 Nov 2027 09:00:00 GMT', ms: 3_600_000, why: 'by this clock alone: an hour at most' },
  { header: 'Fri, 31 Feb 2026 99:99:99 GMT', date: NINE, why: 'no date' },
];
