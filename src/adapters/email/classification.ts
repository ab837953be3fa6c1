import { type ClassificationRule, codes } from '../../core/delivery/policy/classification.ts';
import type { Refused } from '../../core/delivery/ports.ts';

/** Also as the names of errors. */
const named = (words: string) => codes(words).flatMap((code) => [code, `${code}Exception`]);

/**
 * Answers of SES v1 SendEmail: modelled errors by name, AWS's common errors by code, and errors that SES names only
 * in the message (SES developer guide, "API error codes" and "Amazon SES email sending errors"). AWS says only of
 * "5xx" that a retry is worth it. The other rules are our judgement, each with its reason.
 */
export const EMAIL_RULES: readonly ClassificationRule[] = [
  {
    text: /Daily message quota exceeded/i,
    means: 'RATE_LIMITED',
    because:
      'The quota of a rolling 24 hours becomes free by itself. The deadline of the notification limits the wait.',
  },
  { text: /Maximum sending rate exceeded/i, means: 'RATE_LIMITED', because: 'The sending rate is counted in seconds.' },
  {
    code: [
      ...named('Throttling Throttled TooManyRequests LimitExceeded RequestThrottled'),
      ...codes('RequestLimitExceeded SlowDown AccountThrottled AccountDailyQuotaExceeded'),
    ],
    means: 'RATE_LIMITED',
    because: 'SES v1 does not model throttling: the code has the several spellings of AWS.',
  },
  {
    code: named('AccountSendingPaused ConfigurationSetSendingPaused'),
    means: 'RATE_LIMITED',
    because: 'An operator paused sending and will resume it: wait, and use up no retry.',
  },
  {
    text: /Sending (is )?paused/i,
    means: 'RATE_LIMITED',
    because: 'SES reports a paused account also as MessageRejected with this text.',
  },
  {
    text: /Sending suspended|account (has been|is) (suspended|shut down)/i,
    means: 'PERMISSION_DENIED',
    because: 'AWS has suspended the account: an operator has to contact AWS, then redrive.',
  },
  { text: /Signature (expired|not yet)/i, means: 'AUTH_TEMPORARY', because: 'A freeze behind it: aws-sdk-js-v3#7605.' },
  {
    code: codes('ExpiredToken ExpiredTokenException TokenRefreshRequired RequestExpired CredentialsProviderError'),
    means: 'AUTH_TEMPORARY',
    because: "The role's session credentials expired or could not be fetched. New credentials will work.",
  },
  {
    code: [
      ...named('InvalidClientTokenId UnrecognizedClient SignatureDoesNotMatch IncompleteSignature OptInRequired'),
      ...codes('MissingAuthenticationToken InvalidSignatureException AuthFailure'),
    ],
    means: 'AUTH_FAILED',
    because: 'AWS does not know or accept the credentials: a setting is wrong.',
  },
  {
    code: [...named('AccessDenied NotAuthorized'), 'UnauthorizedOperation'],
    means: 'PERMISSION_DENIED',
    because: "The function's role lacks ses:SendEmail for this identity or configuration set.",
  },
  {
    code: named('MailFromDomainNotVerified FromEmailAddressNotVerified'),
    means: 'AUTH_FAILED',
    because: "The sender's domain must be verified in SES first.",
  },
  {
    text: /(address|domain|identity|identities).*(is|are) not verified/i,
    means: 'AUTH_FAILED',
    because:
      'A sender (in the sandbox: a recipient) is not verified in this region. SES reports it as MessageRejected.',
  },
  {
    code: [
      ...named('ConfigurationSetDoesNotExist InvalidConfigurationSet TemplateDoesNotExist'),
      'InvalidSendingPoolName',
    ],
    means: 'AUTH_FAILED',
    because: 'A setting names something that does not exist. After its correction a redrive delivers.',
  },
  {
    text: /suppression list|blacklist/i,
    means: 'INVALID_RECIPIENT',
    because: 'SES sends nothing to an address that bounced or complained before.',
  },
  {
    text: /(Missing final '@domain'|(Domain|Local address|User name) (contains|starts|ends|is missing)|Illegal address|Missing local part|Invalid email address|Recipient count exceeds|Address.*too long)/i,
    means: 'AUTH_FAILED',
    because:
      "SES cannot read an address, and reports it as InvalidParameterValue or MessageRejected. The recipient has passed our own grammar (address.ts), so it is the sender's.",
  },
  {
    code: named('MessageRejected'),
    means: 'FORMAT_ERROR',
    because: 'All other reasons to reject a message are in its content, for example a virus.',
  },
  {
    code: [
      ...named('InvalidParameterValue InvalidParameterCombination MissingParameter ValidationError Validation'),
      ...codes('InvalidTagValue MalformedQueryString InvalidQueryParameter MalformedInput RequestEntityTooLarge'),
    ],
    means: 'FORMAT_ERROR',
    because: 'SES does not accept a parameter (mostly a header, or a body above 10 MB), now or later.',
  },
  {
    code: [...named('InvalidAction MissingAction UnknownOperation'), 'NoSuchVersion'],
    means: 'AUTH_FAILED',
    because: 'The service at the configured endpoint or region is not SES v1.',
  },
  {
    code: codes('RequestTimeout RequestTimeoutException TimeoutError AbortError TIMEOUT ETIMEDOUT'),
    means: 'NETWORK_TIMEOUT',
    because: 'batch-952 §6: a timeout is retried with the normal backoff.',
  },
  {
    code: codes('ECONNREFUSED ECONNRESET EPIPE EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN NetworkingError'),
    means: 'NETWORK_TIMEOUT',
    because: 'SES or the network to it is down, which passes.',
  },
  {
    code: named('ServiceUnavailable InternalFailure InternalServerError InternalServer TransientFailure'),
    means: 'SERVER_OVERLOAD',
    because: 'SES documentation: 5xx is to be retried at growing intervals.',
  },
  { status: [500, 599], means: 'SERVER_OVERLOAD', because: 'SES documentation: 5xx is to be retried.' },
  { status: 429, means: 'RATE_LIMITED', because: 'RFC 6585 §4: too many requests, with any error code.' },
  { status: 403, means: 'PERMISSION_DENIED', because: 'AWS answers 403 when access is refused, with any error code.' },
  { status: 413, means: 'FORMAT_ERROR', because: 'The message is larger than SES accepts.' },
];

/** Which of the account's limits SES says is reached; undefined for any other answer. */
export function exceededLimit({ code, text }: { readonly code: string; readonly text: string }): Refused['limit'] {
  if (/Daily message quota exceeded/i.test(text) || code === 'AccountDailyQuotaExceeded') return 'quota';
  const isRate =
    /Maximum sending rate exceeded/i.test(text) || /^(Throttling|TooManyRequests|AccountThrottled)/.test(code);
  return isRate ? 'rate' : undefined;
}
