import * as v from 'valibot';
import { type ProviderErrorType, policyOf } from '../../core/model/error-types.ts';

/** A term of SES, such as `Bounce` or `MailboxFull`. A longer value would be text, which may quote a person. */
const word = v.pipe(v.string(), v.regex(/^[\w .-]{1,50}$/));
const UNKNOWN_TERM = 'unknown';

/** RFC 3464 §2.3.4 allows a comment behind the code: `5.1.1 (User does not exist)`, which may quote a person. */
const statusCode = v.pipe(
  v.unknown(),
  v.transform((given) => /^\s*(\d\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(String(given))?.[1]),
);

/** A detail that cannot be read is left out: it must not cost the event. */
const bounce = v.fallback(
  v.pipe(
    v.object({
      /** `Permanent`, `Transient` or `Undetermined`. */
      type: v.fallback(word, UNKNOWN_TERM),
      sub_type: v.fallback(word, UNKNOWN_TERM),
      /** Enhanced status code (RFC 3463), if the receiving server gave one. */
      status: v.optional(statusCode),
    }),
    v.transform(({ status, ...terms }) => ({ ...terms, ...(status !== undefined && { status }) })),
  ),
  () => NO_BOUNCE,
);

/** What the messages of the queues of SES's events have in common: the rules of lib/constructs/delivery-events/ make them. */
export const eventEntries = {
  version: v.literal(1),
  /** The name that SES gives the event. */
  event: word,
  at: v.pipe(v.string(), v.isoTimestamp()),
  /** Without the diagnostic text, which often quotes the recipient. */
  bounce: v.optional(bounce),
  /** What the rule knows of a complaint that is none: the recipient says that it is no spam; SES sent nothing. */
  complaint: v.fallback(v.optional(v.picklist(['not-spam', 'suppressed'])), undefined),
  /** SES takes the open or click for one of a machine. Its absence says nothing. */
  machine: v.fallback(
    v.pipe(
      v.optional(v.union([v.boolean(), v.picklist(['true', 'false'])])),
      v.transform((given) => given === true || given === 'true'),
    ),
    false,
  ),
};

/** Of an event without one. */
export const NO_BOUNCE: Bounce = { type: UNKNOWN_TERM, sub_type: UNKNOWN_TERM };

export interface Bounce {
  readonly type: string;
  readonly sub_type: string;
  readonly status?: string;
}

interface BounceRule {
  readonly type: string;
  readonly sub_type?: readonly string[];
  readonly means: ProviderErrorType;
  readonly because: string;
}

/** The first rule that fits decides. */
export const BOUNCE_RULES: readonly BounceRule[] = [
  {
    type: 'Permanent',
    means: 'INVALID_RECIPIENT',
    because: 'The address does not exist, or its server refuses all e-mail for it: SES calls it a hard bounce.',
  },
  {
    type: 'Transient',
    sub_type: ['MessageTooLarge', 'ContentRejected', 'AttachmentRejected'],
    means: 'FORMAT_ERROR',
    because: 'Transient means that the address is good, but the same message would bounce again.',
  },
  {
    type: 'Transient',
    sub_type: ['MailboxFull'],
    means: 'SERVER_OVERLOAD',
    because: 'The recipient has to make room first, which takes longer than a disturbance.',
  },
];

/** SES accepts a mail to an address on its suppression lists and reports a bounce: not delivered, whatever its type. */
const SUPPRESSED = ['Suppressed', 'OnAccountSuppressionList', 'UnsubscribedRecipient'];

/** A delivery failure's enhanced status code: for now (4), or for good (5). */
const FAILURE = /^[45]\.\d{1,3}\.\d{1,3}$/;
const FAILURE_FOR_GOOD = /^5\.\d{1,3}\.\d{1,3}$/;

/**
 * What the bounce means for the attempt. Undefined when it says nothing about the delivery: automatic replies, such as
 * out of office, come as `Transient`, `General` or `Undetermined`, without a status code. Without a rule, only the
 * status code of a failure makes a bounce a failure: UNKNOWN, and so the notification is retried.
 */
export function errorOfBounce({ type, sub_type, status }: Bounce): ProviderErrorType | undefined {
  if (isSuppressed({ sub_type })) return 'INVALID_RECIPIENT';
  const rule = BOUNCE_RULES.find((one) => one.type === type && (one.sub_type?.includes(sub_type) ?? true));
  return rule?.means ?? (FAILURE.test(status ?? '') ? 'UNKNOWN' : undefined);
}

/** Whether a message that a server had taken did not arrive after all. What is suppressed, SES does not send. */
export function isFinal(bounce: Bounce): boolean {
  if (isSuppressed(bounce)) return true;
  const error = errorOfBounce(bounce);
  const pointless = error !== undefined && policyOf(error).class === 'permanent';
  return pointless && FAILURE_FOR_GOOD.test(bounce.status ?? '');
}

export const isSuppressed = ({ sub_type }: Pick<Bounce, 'sub_type'>): boolean => SUPPRESSED.includes(sub_type);

export function describeBounce({ type, sub_type, status }: Bounce): string {
  const why = isSuppressed({ sub_type }) ? 'SES has the recipient on a suppression list' : 'the mail bounced';
  return `${why}: ${type}, ${sub_type}${status === undefined ? '' : `, ${status}`}`;
}
