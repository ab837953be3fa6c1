/** Mails that a new sending domain may send on its first day, and on its last one with a limit. */
const FIRST_DAY = 200;
const LAST_DAY = 200_000;
/** Days with a limit (Ghost's curve). */
export const WARM_UP_DAYS = 42;

/** Most days that the allowance grows by for the mails of one day, so that a weekly newsletter keeps to the curve. */
export const MOST_DAYS_AT_ONCE = 7;

/** Part of a day's mails from which the day counts as a bad one, after which the allowance does not grow. */
const MANY_BOUNCES = 0.05;
const MANY_COMPLAINTS = 0.001;

/** @param step good days of the domain so far, from 0. Undefined: no limit any more. */
export function allowanceOf(step: number): number | undefined {
  if (step >= WARM_UP_DAYS) return undefined;
  return Math.round(FIRST_DAY * (LAST_DAY / FIRST_DAY) ** (step / (WARM_UP_DAYS - 1)));
}

export function isBadDay(day: {
  readonly sent: number;
  readonly bounced: number;
  readonly complained: number;
}): boolean {
  const { sent, bounced, complained } = day;
  return sent > 0 && (bounced / sent >= MANY_BOUNCES || complained / sent >= MANY_COMPLAINTS);
}
