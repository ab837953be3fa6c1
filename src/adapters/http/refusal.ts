import { type ClassificationRule, classify } from '../../core/delivery/policy/classification.ts';
import type { Delivery, Refused } from '../../core/delivery/sender.ts';
import { answerExcerpt } from './answer-excerpt.ts';
import { type HttpAnswer, NetworkFault } from './post.ts';
import { TargetRefusedError } from './target-guard.ts';

interface AnswerContext {
  /** Who answered, as the subject of the message: "the endpoint". */
  readonly who: string;
  readonly delivery: Delivery;
  readonly rules: readonly ClassificationRule[];
  /** The error code of the provider, if the answer has one. */
  readonly code?: string | undefined;
  /** The credential or URL that was used; an echo of it is not recorded. */
  readonly secret?: string | undefined;
}

/** Classifies an answer that is not an acceptance. `Retry-After` counts from the time of the attempt. */
export function refusalOf(answer: HttpAnswer, { who, delivery, rules, code, secret }: AnswerContext): Refused {
  const { subject, body, recipient } = delivery.content;
  const text = answerExcerpt(answer.text, [secret, recipient, subject, body]);
  const retryAfter = parseRetryAfter(answer.headers['retry-after'], delivery.at);
  return {
    ok: false,
    error_type: classify({ status: answer.status, ...(code && { code }), text: answer.text.slice(0, 2000) }, rules),
    response_code: String(answer.status),
    message: `${who} answered ${answer.status}${code ? ` ${code}` : ''}`,
    ...(retryAfter !== undefined && { retry_after_ms: retryAfter }),
    details: { status: answer.status, ...(code && { code }), ...(text && { text }) },
  };
}

/**
 * Classifies the lack of an answer.
 * @throws any other error than NetworkFault and TargetRefusedError: it is a defect of our code
 */
export function faultRefusal(error: unknown, rules: readonly ClassificationRule[]): Refused {
  if (!(error instanceof NetworkFault) && !(error instanceof TargetRefusedError)) throw error;
  const message = error instanceof NetworkFault ? error.message : `the target URL is refused: ${error.message}`;
  return { ok: false, error_type: classify({ code: error.code }, rules), message, details: { code: error.code } };
}

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
