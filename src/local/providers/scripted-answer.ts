/**
 * A word in the address decides how a simulated provider answers. The word is the path of a webhook or Teams URL, the
 * end of a Slack webhook's path, the name of a Slack channel, or the local part of an e-mail address. The rest of the
 * address (`/NAME`, `+name`) only keeps addresses apart.
 *
 * | word | answer |
 * |---|---|
 * | `ok`, any other word | accepts |
 * | `flaky-2` | fails the first two attempts of each notification (503), then accepts |
 * | `rate-limit-3` | 429 with Retry-After until 3 seconds after the notification's first attempt, then accepts |
 * | `throttle` | same as `rate-limit-1` |
 * | `status-503` | always this HTTP status |
 * | `slow-30000` | accepts after that many milliseconds |
 * | `drop` | closes the connection without an answer |
 * | `drop-1` | closes it at the first attempt of each notification, then accepts |
 * | `gone` | the receiver no longer exists: 410, Slack `is_archived`, e-mail MessageRejected |
 * | `missing` | there is no such recipient: 404, Slack `channel_not_found`, e-mail MessageRejected |
 * | `bounce` | same as `missing`; an e-mail is accepted and bounces later (ses/mail-outcome.ts) |
 * | `unauthorized` | the credential is refused: 401, Slack `invalid_auth`, e-mail AccessDenied |
 * | `forbidden` | the permission is missing: 403, Slack `missing_scope`, e-mail MailFromDomainNotVerifiedException |
 * | `malformed` | the message is refused: 400, Slack `invalid_blocks`, e-mail InvalidParameterValue |
 * | `error-CODE` | the provider's own error code: Slack `{"ok":false,"error":"CODE"}`, e-mail `CODE`; elsewhere 400 |
 *
 * In a path a slash may separate the parameter, too: `/webhook/flaky/2/NAME`.
 */
export type ScriptedAnswer =
  | { readonly kind: 'accept' }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'limit'; readonly retryAfterSeconds: number }
  | { readonly kind: 'refuse'; readonly why: Refusal }
  | { readonly kind: 'error'; readonly code: string }
  | { readonly kind: 'drop' };

const REFUSALS = ['gone', 'missing', 'unauthorized', 'forbidden', 'malformed'] as const;
export type Refusal = (typeof REFUSALS)[number];

/** Earlier attempts of the same notification at this address. */
export interface History {
  /** Attempts before this one. */
  readonly attempts: number;
  /** Milliseconds since the first attempt; 0 at the first attempt. */
  readonly sinceFirstMs: number;
}

export interface Scripted {
  readonly answer: ScriptedAnswer;
  /** Milliseconds until the answer. */
  readonly delayMs: number;
}

const ACCEPT: ScriptedAnswer = { kind: 'accept' };

export function scriptedAnswerTo(word: string, history: History): Scripted {
  const slow = /^slow[-/](\d+)/.exec(word);
  return { answer: answerTo(word, history), delayMs: Number(slow?.[1] ?? 0) };
}

function answerTo(word: string, history: History): ScriptedAnswer {
  const [, name = '', parameter = ''] = /^(flaky|drop|rate-limit|status|error)[-/]([^/+]+)/.exec(word) ?? [];
  const amount = Number(parameter);
  if (name === 'flaky') return history.attempts < amount ? { kind: 'status', status: 503 } : ACCEPT;
  if (name === 'drop' && amount > 0) return history.attempts < amount ? { kind: 'drop' } : ACCEPT;
  if (name === 'rate-limit') return limited(amount, history);
  if (name === 'status') return amount >= 200 && amount <= 599 ? { kind: 'status', status: amount } : ACCEPT;
  if (name === 'error') return { kind: 'error', code: parameter };
  const plain = /^[a-z]+/.exec(word)?.[0];
  if (plain === 'throttle') return limited(1, history);
  if (plain === 'drop') return { kind: 'drop' };
  if (plain === 'bounce') return { kind: 'refuse', why: 'missing' };
  const why = REFUSALS.find((refusal) => refusal === plain);
  return why === undefined ? ACCEPT : { kind: 'refuse', why };
}

function limited(seconds: number, { attempts, sinceFirstMs }: History): ScriptedAnswer {
  const left = seconds - sinceFirstMs / 1000;
  if (attempts > 0 && left <= 0) return ACCEPT;
  return { kind: 'limit', retryAfterSeconds: Math.max(1, Math.ceil(left)) };
}
