/** The current time; injected, so that tests set the time. */
export type Clock = () => Date;

/** For who puts a function or a command together; nothing of the domain calls it. */
export const systemClock: Clock = () => new Date();

/** RFC 3339 §5.6 allows a blank, which Python writes; PostgreSQL leaves the minutes of an offset out. */
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}(?::?\d{2})?)?$/;

/**
 * Reads a time as the source documents and their writers write it: ISO-8601 with a zone, or `2025-06-01 10:30:00`, with
 * one or without (his-notification-log-table.md, sample data). Undefined for any other format, for a day that does not exist,
 * and for a time that is not in the years 0 to 9999 in UTC.
 * @param zone of a time without one: a name of the IANA time zone database
 */
export function parseTime(text: string, zone = 'UTC'): Date | undefined {
  const [, day, clock, offset] = TIME.exec(text) ?? [];
  if (day === undefined) return undefined;
  const time = new Date(`${day}T${clock}${(offset ?? 'Z').replace(/^[+-]\d\d$/, '$&:00')}`);
  if (Number.isNaN(time.getTime()) || !isDay(day)) return undefined;
  const read = offset !== undefined || zone === 'UTC' ? time : inZone(time, zone);
  return read >= FIRST && read < END ? read : undefined;
}

/** A year of five digits, or before 0, would be written with a sign, which sorts before every other time. */
const FIRST = new Date('0000-01-01T00:00:00Z');
const END = new Date('+010000-01-01T00:00:00Z');

/** The time `ms` earlier, but none before the year 0: its sign would sort it wrongly, and no store reads it. */
export function isoBefore(time: string | Date, ms: number): string {
  return new Date(Math.max(FIRST.getTime(), new Date(time).getTime() - ms)).toISOString();
}

/** Whether `epochMs` reads the text, and on every machine as the same time. */
export const isUtcTime = (text: string): boolean => /^\S+Z$/.test(text) && parseTime(text) !== undefined;

/**
 * When clocks of the zone show what `shown` shows in UTC: the first time of two; in a skipped hour, as if the clocks had
 * not been changed. No zone is more than a day from UTC, and none changes its clocks twice in two days.
 */
function inZone(shown: Date, zone: string): Date {
  const by = (at: Date) => new Date(shown.getTime() - offsetMs(at, zone));
  const before = by(new Date(shown.getTime() - DAY_MS));
  const after = by(new Date(shown.getTime() + DAY_MS));
  const isShown = (time: Date) => by(time).getTime() === time.getTime();
  return before.getTime() === after.getTime() || isShown(before) || !isShown(after) ? before : after;
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/** How far clocks in the zone are ahead of UTC at the time. */
function offsetMs(time: Date, zone: string): number {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
  formats.set(zone, format);
  const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours, minutes = '00', seconds = '00'] = /([+-])(\d{2}):?(\d{2})?:?(\d{2})?/.exec(name) ?? [];
  const ms = ((Number(hours ?? 0) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -ms : ms;
}

/**
 * Whether the name is one of a time zone. The list knows the usual names. Only an alias such as `US/Eastern` needs a
 * date format, whose data takes a quarter of the CPU of a cold start to load.
 */
export function isTimeZone(name: string): boolean {
  if (name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name)) return true;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

/** JavaScript reads 30 February as 2 March. Every month has 28 days, so most times need no second look. */
function isDay(day: string): boolean {
  const date = day.slice(8);
  if (date >= '01' && date <= '28') return true;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** Milliseconds since the epoch, of a time that our own code wrote, or of one that `isUtcTime`. */
export const epochMs = (iso: string): number => Date.parse(iso);

export const isoAfter = (from: Date, ms: number): string => new Date(from.getTime() + ms).toISOString();

/**
 * Resolves with undefined when the signal aborts, at once if it has aborted already; never resolves without a signal.
 */
export function whenAborted(signal: AbortSignal | undefined): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve(undefined);
    else signal?.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/** Two years, in days: his-notification-log-table.md, 特記事項. */
export const RETENTION_DAYS = 2 * 365;

/** TTL, epoch seconds: two years after `from`, or so many days. */
export const expiresAt = (from: Date, days = RETENTION_DAYS): number =>
  Math.floor(from.getTime() / 1000) + days * 86_400;

/** Longer than the longest window and the fourteen days of a dead letter together. */
const KEPT_ON_DAYS = 30;

/**
 * The TTL of a row whose attempts start anew, where it would expire among them; nothing where it lasts.
 * @param expires_at as the row has it: what is no number of its writer's never expires
 */
export function keptOn(expires_at: unknown, now: Date): { readonly expires_at?: number } {
  const least = Math.ceil(now.getTime() / 1000) + KEPT_ON_DAYS * 86_400;
  return typeof expires_at === 'number' && expires_at < least ? { expires_at: least } : {};
}
