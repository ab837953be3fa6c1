import { codes } from '../../core/delivery/policy/classification.ts';
import type { Refusal } from '../../core/newsletter/model/provider.ts';

interface RefusalRule {
  readonly code?: readonly string[];
  /** The provider's words, where one code stands for several things. */
  readonly text?: RegExp;
  readonly status?: readonly [from: number, to: number];
  readonly class: Refusal['class'] | 'unknown';
  readonly because: string;
}

const SENDING_STOPPED = /sending (is |has been )?(paused|suspended|disabled)/i;

/** Statuses of single entries of SendBulkEmail. AWS explains few; the rest is our judgement. */
export const ENTRY_RULES: readonly RefusalRule[] = [
  { code: codes('ACCOUNT_THROTTLED'), class: 'throttled', because: 'The rate of the account is counted in seconds.' },
  {
    code: codes('ACCOUNT_DAILY_QUOTA_EXCEEDED'),
    class: 'quota',
    because: 'The quota of a rolling 24 hours becomes free by itself.',
  },
  {
    code: codes('TRANSIENT_FAILURE FAILED'),
    class: 'transient',
    because: 'SES has not accepted the mail, and asks to try again: FAILED says “Unknown error occurred” in its text.',
  },
  {
    text: SENDING_STOPPED,
    class: 'account',
    because: 'SES reports a stopped account under several codes; the words are the same.',
  },
  {
    code: codes('ACCOUNT_SUSPENDED ACCOUNT_SENDING_PAUSED CONFIGURATION_SET_SENDING_PAUSED'),
    class: 'account',
    because: 'AWS, or an operator, has to resume sending: every other entry is refused alike.',
  },
  {
    code: codes('MESSAGE_REJECTED'),
    text: /not verified/i,
    class: 'unverified',
    because: 'The sender (in the sandbox: a recipient) is not verified in this region.',
  },
  {
    code: codes('MESSAGE_REJECTED INVALID_PARAMETER'),
    class: 'recipient',
    because: 'SES refuses this entry alone: its address, its values or its headers.',
  },
  {
    code: codes(
      'MAIL_FROM_DOMAIN_NOT_VERIFIED CONFIGURATION_SET_NOT_FOUND TEMPLATE_NOT_FOUND INVALID_SENDING_POOL_NAME',
    ),
    class: 'settings',
    because: 'An operator has to mend a setting: every other entry is refused alike.',
  },
];

/** Errors of the call as a whole. What none decides is unknown: SES may have accepted the call. */
export const CALL_RULES: readonly RefusalRule[] = [
  {
    text: /daily (message|sending) quota/i,
    class: 'quota',
    because: 'SES reports the quota under several codes; the words are the same.',
  },
  {
    code: codes('TooManyRequestsException ThrottlingException Throttling'),
    class: 'throttled',
    because: 'SES refuses calls above the rate and drops them: nothing of the call is accepted.',
  },
  {
    code: codes('AccountSuspendedException SendingPausedException'),
    class: 'account',
    because: 'AWS, or an operator, has to resume sending.',
  },
  {
    text: SENDING_STOPPED,
    class: 'account',
    because: 'SES reports a stopped account under several codes; the words are the same.',
  },
  { text: /Signature (expired|not yet)/i, class: 'transient', because: 'A freeze behind it: aws-sdk-js-v3#7605.' },
  {
    code: codes(`MailFromDomainNotVerifiedException NotFoundException AccessDeniedException UnrecognizedClientException
      InvalidSignatureException`),
    class: 'settings',
    because: 'An operator has to mend a setting or a right.',
  },
  {
    code: codes('LimitExceededException'),
    class: 'transient',
    because: 'A limit of resources is no rate: it is tried again as often as a failure, and then an operator looks.',
  },
  {
    text: /not verified/i,
    class: 'unverified',
    because: 'SES reports a sender (in the sandbox: a recipient) that is not verified as MessageRejected.',
  },
  {
    code: codes('MessageRejected BadRequestException ValidationException SerializationException'),
    class: 'content',
    because: 'One entry, or the content, makes SES refuse the call: the same call is refused again.',
  },
  { status: [413, 413], class: 'content', because: 'The call is larger than SES accepts; half of it may fit.' },
  {
    code: codes('ExpiredTokenException RequestExpired CredentialsProviderError TokenRefreshRequired'),
    class: 'transient',
    because: "The role's session credentials expired or could not be fetched. New credentials will work.",
  },
  {
    code: codes('ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH'),
    class: 'transient',
    because: 'No connection was made, so the request never left.',
  },
  { status: [503, 503], class: 'overloaded', because: 'SES is overloaded and took nothing (the source retries 503).' },
  { status: [429, 429], class: 'throttled', because: 'RFC 6585 §4: too many requests, with any error code.' },
  { status: [403, 403], class: 'settings', because: 'AWS answers 403 when access is refused, with any error code.' },
  { status: [400, 499], class: 'content', because: 'SES does not accept the call, now or later.' },
  {
    status: [500, 599],
    class: 'unknown',
    because: 'SES may have accepted the call before it failed: never repeated blindly.',
  },
];

export interface RefusalFacts {
  readonly code: string;
  readonly text?: string;
  readonly status?: number;
}

/** The class by the first rule that fits; `otherwise` when none does. */
export function classOf<T>(
  { code, text = '', status }: RefusalFacts,
  rules: readonly RefusalRule[],
  otherwise: T,
): RefusalRule['class'] | T {
  const fits = (rule: RefusalRule) =>
    (rule.code?.includes(code) ?? true) &&
    (rule.text?.test(text) ?? true) &&
    (rule.status === undefined || (status !== undefined && status >= rule.status[0] && status <= rule.status[1]));
  return rules.find(fits)?.class ?? otherwise;
}
