import { type ClassificationRule, classify } from '../../core/delivery/policy/classification.ts';
import type { Delivery, Refused, SendResult } from '../../core/delivery/sender.ts';
import { answerExcerpt } from './answer-excerpt.ts';
import { parseRetryAfter } from './network-classification.ts';
import { type HttpAnswer, NetworkFault, type TargetMessage, type TargetPoster } from './post.ts';
import { TargetRefusedError } from './target-guard.ts';

interface AnswerContext {
  /** Who answered, as the subject of the message: "the endpoint". */
  readonly who: string;
  readonly delivery: Delivery;
  readonly rules: readonly ClassificationRule[];
  /** The error code of the provider, if the answer has one. */
  readonly code?: string | undefined;
  /** The credentials and the URL that were used; an echo of them is not recorded. */
  readonly secrets?: readonly (string | undefined)[];
}

/** Classifies an answer that is not an acceptance. `Retry-After` counts from the time of the attempt. */
export function refusalOf(answer: HttpAnswer, { who, delivery, rules, code, secrets = [] }: AnswerContext): Refused {
  const { subject, body, recipient } = delivery.content;
  const text = answerExcerpt(answer.text, [...secrets, recipient, subject, body]);
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

interface Posting extends Omit<AnswerContext, 'code'> {
  readonly poster: TargetPoster;
  /** The URL, which is a credential itself. */
  readonly target: string;
  readonly message: TargetMessage;
  readonly signal: AbortSignal;
  /** The error code of the provider in the text of its answer. */
  readonly codeIn?: (text: string) => string | undefined;
  /** Of an answer with a status of success: whether its text says otherwise. */
  readonly isFailure?: RegExp;
}

/** Posts once to a URL that a tenant chose; every answer, and the lack of one, is a result. */
export async function postTo({ poster, target, message, signal, codeIn, isFailure, ...context }: Posting) {
  try {
    const answer = await poster.post(target, message, signal);
    const { status, text } = answer;
    const isAccepted = status >= 200 && status < 300 && !isFailure?.test(text);
    if (isAccepted) return { ok: true, response_code: String(status) } satisfies SendResult;
    const { secrets = [] } = context;
    return refusalOf(answer, { ...context, code: codeIn?.(text), secrets: [target, ...secrets] });
  } catch (error) {
    return faultRefusal(error, context.rules);
  }
}
