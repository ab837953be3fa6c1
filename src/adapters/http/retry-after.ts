const DAY_MS = 86_400_000;

/** RFC 9110 §5.6.7: the preferred form and the obsolete forms that a recipient must still accept. */
const HTTP_DATE = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
];

const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Reads a `Retry-After` header (RFC 9110 §10.2.3): delay-seconds or an HTTP-date.
 * @returns milliseconds from `now`, 1…86,400,000. A longer delay counts as a day, because no notification is retried
 *   for longer. Undefined when the header is missing, malformed, zero or in the past.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  const delay = /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(text) * 1000) : dateOf(text) - now.getTime();
  return delay > 0 ? Math.min(delay, DAY_MS) : undefined;
}

/** NaN when the text is not an HTTP-date; NaN compares as "not in the future". */
function dateOf(text: string): number {
  if (HTTP_DATE.some((form) => form.test(text))) return Date.parse(text);
  return ASCTIME.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
