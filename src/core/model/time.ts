/** The current time; injected, so that tests set the time. */
export type Clock = () => Date;

const ISO_WITH_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/;
const WITHOUT_ZONE = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/;

/**
 * Reads a time as the source documents write it: ISO-8601 with a zone, or `2025-06-01 10:30:00` without one
 * (his-notification-log-table.md, sample data), which is taken as UTC. Undefined for any other format, and for a day
 * that does not exist.
 */
export function parseTime(text: string): Date | undefined {
  const iso = ISO_WITH_ZONE.test(text) ? text : WITHOUT_ZONE.test(text) ? `${text.replace(' ', 'T')}Z` : undefined;
  if (iso === undefined) return undefined;
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) || !isDay(iso.slice(0, 10)) ? undefined : time;
}

/** JavaScript reads 30 February as 2 March. */
function isDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** Milliseconds since the epoch, of a time that our own code wrote. */
export function epochMs(iso: string): number {
  return Date.parse(iso);
}

export function isoAfter(from: Date, ms: number): string {
  return new Date(from.getTime() + ms).toISOString();
}
