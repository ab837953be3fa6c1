import type { IncomingHttpHeaders } from 'node:http';
import { type ClassificationRule, codes } from '../../core/delivery/policy/classification.ts';
import { refusedByUs } from '../../core/model/error-types.ts';
import { ExplainedError } from '../../core/model/problem.ts';
import { RETRY_SETTINGS } from '../../core/model/retry-policy.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** UTF-8, cut off at the limit. */
  readonly text: string;
  /** False if the text was cut off, by the limit, by the time or by the other side. */
  readonly complete: boolean;
}

/** No answer came. The message never names the target, because it may go into logs and records. */
export class NetworkFault extends ExplainedError {
  override readonly name = 'NetworkFault';
  /** `TIMEOUT`, `TARGET_REFUSED`, `NO_HTTP`, or Node's code (`ECONNREFUSED`, `CERT_HAS_EXPIRED`, …). */
  readonly code: string;
  /** With `NO_HTTP`: the start of what came, which may repeat our own values. */
  readonly came: string | undefined;

  constructor(code: string, message: string, came?: string) {
    super(message);
    this.code = code;
    this.came = came;
  }
}

/** Says what is wrong with a target without naming it, because the URL of a webhook is a credential. */
export class TargetRefusedError extends ExplainedError {
  override readonly name = 'TargetRefusedError';
  readonly code = 'TARGET_REFUSED';
}

/** What the lack of an answer means, and a status of the server's alone, for all channels that use the poster. */
export const NETWORK_RULES: readonly ClassificationRule[] = [
  {
    code: 'TARGET_REFUSED',
    means: 'INVALID_RECIPIENT',
    because: 'A target that is malformed or in a private network is never posted to, now or later.',
  },
  {
    code: /* @__PURE__ */ codes('TIMEOUT ETIMEDOUT ESOCKETTIMEDOUT'),
    means: 'NETWORK_TIMEOUT',
    because: 'batch-952 §6: a timeout is retried with the normal backoff.',
  },
  {
    code: /* @__PURE__ */ codes(
      'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN',
    ),
    means: 'NETWORK_TIMEOUT',
    because: 'The endpoint or the network to it is down, which passes.',
  },
  {
    code: /* @__PURE__ */ codes('ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NODATA ENODATA ESERVFAIL ETIMEOUT'),
    means: 'NETWORK_TIMEOUT',
    because:
      'getaddrinfo says "not found" also during a DNS outage and while a record spreads. If the name is really wrong, the retry limit ends the retries.',
  },
  {
    code: /* @__PURE__ */ codes(`CERT_HAS_EXPIRED CERT_NOT_YET_VALID DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN
      UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY
      ERR_TLS_CERT_ALTNAME_INVALID EPROTO`),
    means: 'UNKNOWN',
    because: 'The owner of an endpoint repairs a bad certificate, mostly within hours: a retry is worth it.',
  },
  {
    code: ['NO_HTTP'],
    means: 'NETWORK_TIMEOUT',
    because: 'What came is no answer: typically a proxy speaks while the endpoint behind it is being replaced.',
  },
  { status: 408, means: 'NETWORK_TIMEOUT', because: 'RFC 9110 §15.5.9: the request did not arrive in time.' },
  { status: 425, means: 'UNKNOWN', because: 'RFC 8470 §5.2: too early; a retry is expected.' },
  { status: 501, means: 'INVALID_RECIPIENT', because: 'RFC 9110 §15.6.2: this server accepts no POST.' },
  { status: 505, means: 'INVALID_RECIPIENT', because: 'RFC 9110 §15.6.6: this server does not speak HTTP/1.1.' },
];

/**
 * What an error of an AWS client tells: the service's code as its name, or Node's code where there was no answer, which is
 * sometimes only in its cause. An error that is not from the network either is a defect of our code.
 */
export function sdkFacts(error: unknown) {
  if (!(error instanceof Error)) {
    return { code: 'Unknown', text: String(error), status: undefined, fromNetwork: false, retryAfter: undefined };
  }
  const { $metadata, $response, code, cause } = error as Error & {
    $metadata?: { httpStatusCode?: number };
    $response?: { headers?: Record<string, string> };
    code?: unknown;
  };
  const status = $metadata?.httpStatusCode;
  const inner = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const nodeCode = [code, inner].find((value) => typeof value === 'string');
  return {
    code: status === undefined ? String(nodeCode ?? error.name) : error.name,
    text: error.message,
    fromNetwork: nodeCode !== undefined || error.name === 'AbortError' || error.name === 'TimeoutError',
    retryAfter: $response?.headers?.['retry-after'],
    status,
  };
}

/** The longest window that a stage may set: no notification is retried for longer. */
const LONGEST_MS = RETRY_SETTINGS.retentionHours.to * 3_600_000;

/** RFC 9110 §5.6.7: the preferred form and the obsolete forms that a recipient must still accept. */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2}) \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Reads a `Retry-After` header (RFC 9110 §10.2.3): delay-seconds or an HTTP-date.
 * @returns milliseconds from `now`, 1…LONGEST_MS, as which a longer delay counts. Undefined when the header is missing,
 *   malformed, zero or in the past.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  const delay = /^\d{1,9}(\.\d+)?$/.test(text) ? Math.ceil(Number(text) * 1000) : dateOf(text) - now.getTime();
  return delay > 0 ? Math.min(delay, LONGEST_MS) : undefined;
}

/** NaN when the text is no date; NaN compares as "not in the future". Some write the time since 1970 (clawhub#407). */
function dateOf(text: string): number {
  if (/^\d{10}(\d{3})?$/.test(text)) return Number(text.padEnd(13, '0'));
  return HTTP_DATE.test(text) || ASCTIME.test(text) ? Date.parse(`${text.replace(/ GMT$/, '')} GMT`) : Number.NaN;
}

/** @param why without the URL */
export const refusedTarget = (why = ''): string =>
  refusedByUs('bad_target', `the target URL is refused: ${why}`).message;

/** Only the code is kept of Node's errors, because their messages name the address. */
export function networkFault(
  error: Partial<Pick<NodeJS.ErrnoException, 'code' | 'message'>>,
  came: Buffer,
): NetworkFault {
  const { code = 'UNKNOWN', message } = error;
  if (code === 'TARGET_REFUSED') return new NetworkFault(code, refusedTarget(message));
  if (code.startsWith('HPE_')) {
    return new NetworkFault('NO_HTTP', `the endpoint sent ${kindOf(came)} (${code})`, came.toString('utf8', 0, 2_000));
  }
  return came.length > 0
    ? new NetworkFault(code, `the connection ended within the head of an answer (${code})`)
    : new NetworkFault(code, `the endpoint could not be reached (${code})`);
}

/** A sign-in page, a proxy's error: never an answer of Slack's or Teams'. */
export const PAGE = /^\s*<(!doctype|html|head|body|\?xml)\b/i;

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^HTTP\/\d\.\d[ \t]+\d{3}(?!\d)[^\n]*\n/, 'a head of more than 64 KB'],
  [/^(HTTP|ICY)\b/i, 'a status line that is not in HTTP/1'],
  [PAGE, 'a page without a head'],
  [/^SSH-/, 'the greeting of an SSH server'],
  [/^(220|554)[ -]/, 'the greeting of a mail or FTP server'],
];

function kindOf(came: Buffer): string {
  const start = came.toString('latin1', 0, 1_000).trimStart();
  if (came[0] === 0x15 || came[0] === 0x16) return 'TLS';
  if (came[0] === 0 && came[3] === 4) return 'HTTP/2';
  return KINDS.find(([form]) => form.test(start))?.[1] ?? `${came.length} bytes that are not in HTTP`;
}

/**
 * The final head among bytes that Node's parser refuses: RFC 9112 §6.3 lets equal lengths count as one, and a head that
 * contradicts itself still has a status. The receiver has decided by then, and it is this side that hangs up.
 */
export function readHead(bytes: Buffer, limit: number): HttpAnswer | undefined {
  let rest = bytes.toString('latin1').trimStart();
  for (;;) {
    const { index, 0: end } = /\r?\n\r?\n|$/.exec(rest) ?? { index: rest.length, 0: '' };
    const [statusLine = '', ...fields] = rest.slice(0, index).split(/\r?\n/);
    const status = /^HTTP\/\d\.\d[ \t]+(\d{3})(?![^ \t])/.exec(statusLine)?.[1];
    const isWhole = end !== '' || fields.length > 0;
    if (status === undefined || status === '101' || !isWhole) return undefined;
    rest = rest.slice(index + end.length);
    if (status.startsWith('1')) continue;
    const headers = Object.fromEntries(
      fields.map((field) => field.split(/:\s*(.*)/).map((part) => part.toLowerCase())),
    );
    const text = Buffer.from(rest, 'latin1').toString('utf8', 0, limit);
    return { status: Number(status), headers, text, complete: false };
  }
}
