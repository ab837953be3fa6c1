import { InvalidArgumentError } from 'commander';
import { isoBefore, parseTime } from '../core/model/time.ts';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A whole number, 1 or more. */
export function parseCount(text: string): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1) throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return number;
}

/** `3`, or `2-5` with both included. */
export function parseRange(text: string): { readonly least: number; readonly most: number } {
  const [, from, to] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? [];
  const range = { least: Number(from), most: Number(to ?? from) };
  if (from === undefined || range.least > range.most) {
    throw new InvalidArgumentError('It must be a whole number such as 3, or a range such as 2-5.');
  }
  return range;
}

/** Messages per second. SQS moves at most 500. */
export function parseRate(text: string): number {
  const number = parseCount(text);
  if (number > 500) throw new InvalidArgumentError('It must be 1 to 500 per second.');
  return number;
}

/** `30s`, `15m`, `6h` or `2d`, in milliseconds. */
export function parseDuration(text: string): number {
  const ms = durationOf(text);
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration such as 30m, 6h or 2d.');
  return ms;
}

/** A time, or how long ago it was (`6h`), as ISO-8601 UTC with milliseconds. */
export function parseMoment(text: string): string {
  const ms = durationOf(text);
  const moment = ms === undefined ? parseTime(text) : new Date(isoBefore(new Date(), ms));
  if (moment === undefined) {
    throw new InvalidArgumentError(
      'It must be a time such as 2026-11-21T09:00:00Z, or a duration ago such as 6h or 2d.',
    );
  }
  return moment.toISOString();
}

/** An id of at most 50 characters, the length of the columns in his-notification-log-table.md. */
export function parseId(text: string): string {
  if (text.length === 0 || [...text].length > 50)
    throw new InvalidArgumentError('It must be an id of 1 to 50 characters.');
  return text;
}

function durationOf(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return amount === undefined || unit === undefined ? undefined : Number(amount) * (UNITS[unit] ?? 0);
}
