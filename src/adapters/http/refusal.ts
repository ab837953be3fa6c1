import { type ClassificationRule, classify, type Delivery, type Refused } from '../../core/delivery/sender.ts';
import { answerExcerpt } from './answer-excerpt.ts';
import { type HttpAnswer, NetworkFault } from './post.ts';
import { parseRetryAfter } from './retry-after.ts';
import { TargetRefusedError } from './target-guard.ts';

interface Judged {
  /** Who answered, as the sentence's subject: "the endpoint". */
  readonly who: string;
  readonly delivery: Delivery;
  readonly rules: readonly ClassificationRule[];
  /** The provider's error code, where its answer has one. */
  readonly code?: string | undefined;
  /** The credential or URL that was used, so that an echo of it is not recorded. */
  readonly secret?: string | undefined;
}

/** An answer that is not an acceptance, classified; `Retry-After` counts from the attempt's time. */
export function refusalOf(answer: HttpAnswer, { who, delivery, rules, code, secret }: Judged): Refused {
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
 * The absence of an answer, classified.
 * @throws whatever it is given that is neither NetworkFault nor TargetRefusedError: a defect of ours.
 */
export function faultRefusal(error: unknown, rules: readonly ClassificationRule[]): Refused {
  if (!(error instanceof NetworkFault) && !(error instanceof TargetRefusedError)) throw error;
  const message = error instanceof NetworkFault ? error.message : `the target URL is refused: ${error.message}`;
  return { ok: false, error_type: classify({ code: error.code }, rules), message, details: { code: error.code } };
}
