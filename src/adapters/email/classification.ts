import type { ClassificationRule } from '../../core/delivery/sender.ts';

const named = (...codes: string[]) => codes.flatMap((code) => [code, `${code}Exception`]);

/**
 * Answers of SES v1 SendEmail: modelled errors by name, AWS's common errors by code, and what SES says only in the
 * message (SES developer guide, "API error codes" and "Amazon SES email sending errors"). AWS gives no table of what
 * is worth retrying beyond "5xx"; the rest is our judgement, each with its reason.
 */
export const EMAIL_RULES: readonly ClassificationRule[] = [
  {
    text: /Daily message quota exceeded/i,
    means: 'RATE_LIMITED',
    because: 'The quota of a rolling 24 hours lifts by itself; not the notification’s fault, and its deadline ends it.',
  },
  {
    text: /Maximum sending rate exceeded/i,
    means: 'RATE_LIMITED',
    because: 'The sending rate is counted in seconds.',
  },
  {
    code: [
      ...named('Throttling', 'Throttled', 'TooManyRequests', 'LimitExceeded', 'RequestThrottled'),
      'RequestLimitExceeded',
      'SlowDown',
      'AccountThrottled',
      'AccountDailyQuotaExceeded',
    ],
    means: 'RATE_LIMITED',
    because: 'Throttling is not modelled by SES v1: its code comes in AWS’s several spellings.',
  },
  {
    code: named('AccountSendingPaused', 'ConfigurationSetSendingPaused'),
    means: 'RATE_LIMITED',
    because: 'An operator paused sending and will resume it: wait, without using up retries.',
  },
  {
    text: /Sending (is )?paused/i,
    means: 'RATE_LIMITED',
    because: 'SES reports a paused account also as MessageRejected with this text.',
  },
  {
    text: /Sending suspended|account (has been|is) (suspended|shut down)/i,
    means: 'PERMISSION_DENIED',
    because: 'AWS has suspended the account: somebody has to talk to AWS, then redrive.',
  },
  {
    code: [
      'ExpiredToken',
      'ExpiredTokenException',
      'TokenRefreshRequired',
      'RequestExpired',
      'CredentialsProviderError',
    ],
    means: 'AUTH_TEMPORARY',
    because: "The role's session credentials ran out, or could not be had; the next ones will do.",
  },
  {
    code: [
      ...named(
        'InvalidClientTokenId',
        'UnrecognizedClient',
        'SignatureDoesNotMatch',
        'IncompleteSignature',
        'OptInRequired',
      ),
      'MissingAuthenticationToken',
      'InvalidSignatureException',
      'AuthFailure',
    ],
    means: 'AUTH_FAILED',
    because: 'AWS does not know or accept the credentials: a setting is wrong.',
  },
  {
    code: [...named('AccessDenied', 'NotAuthorized'), 'UnauthorizedOperation'],
    means: 'PERMISSION_DENIED',
    because: "The function's role lacks ses:SendEmail for this identity or configuration set.",
  },
  {
    code: named('MailFromDomainNotVerified', 'FromEmailAddressNotVerified'),
    means: 'AUTH_FAILED',
    because: "The sender's domain has to be verified in SES first.",
  },
  {
    text: /(address|domain|identity|identities).*(is|are) not verified/i,
    means: 'AUTH_FAILED',
    because: 'A sender (in the sandbox: a recipient) is not verified in this region; it says so as MessageRejected.',
  },
  {
    code: [
      ...named('ConfigurationSetDoesNotExist', 'InvalidConfigurationSet', 'TemplateDoesNotExist'),
      'InvalidSendingPoolName',
    ],
    means: 'AUTH_FAILED',
    because: 'A setting names what does not exist: it has to be corrected, then a redrive delivers.',
  },
  {
    text: /suppression list|blacklist/i,
    means: 'INVALID_RECIPIENT',
    because: 'SES sends nothing to an address that bounced or complained before.',
  },
  {
    text: /(Missing final '@domain'|(Domain|Local address|User name) (contains|starts|ends|is missing)|Illegal address|Missing local part|Invalid email address|Recipient count exceeds|Address.*too long)/i,
    means: 'INVALID_RECIPIENT',
    because: 'SES cannot read the address; it says so as InvalidParameterValue or MessageRejected.',
  },
  {
    code: named('MessageRejected'),
    means: 'FORMAT_ERROR',
    because: 'Anything else that SES rejects a message for is its content, a virus for instance.',
  },
  {
    code: [
      ...named(
        'InvalidParameterValue',
        'InvalidParameterCombination',
        'MissingParameter',
        'ValidationError',
        'Validation',
      ),
      'InvalidTagValue',
      'MalformedQueryString',
      'InvalidQueryParameter',
      'MalformedInput',
      'RequestEntityTooLarge',
    ],
    means: 'FORMAT_ERROR',
    because: 'A parameter (mostly a header or a body above 10 MB) is not what SES takes, and would not be next time.',
  },
  {
    code: [...named('InvalidAction', 'MissingAction', 'UnknownOperation'), 'NoSuchVersion'],
    means: 'AUTH_FAILED',
    because: 'What answers at the configured endpoint or region is not SES v1.',
  },
  {
    code: ['RequestTimeout', 'RequestTimeoutException', 'TimeoutError', 'AbortError', 'TIMEOUT', 'ETIMEDOUT'],
    means: 'NETWORK_TIMEOUT',
    because: 'batch-952 §6: a timeout is retried with the normal backoff.',
  },
  {
    code: [
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
      'EHOSTUNREACH',
      'ENETUNREACH',
      'ENOTFOUND',
      'EAI_AGAIN',
      'NetworkingError',
    ],
    means: 'NETWORK_TIMEOUT',
    because: 'SES or the way to it is down, which passes.',
  },
  {
    code: named('ServiceUnavailable', 'InternalFailure', 'InternalServerError', 'InternalServer', 'TransientFailure'),
    means: 'SERVER_OVERLOAD',
    because: 'SES documentation: 5xx is to be retried, at growing intervals.',
  },
  { status: [500, 599], means: 'SERVER_OVERLOAD', because: 'SES documentation: 5xx is to be retried.' },
  { status: 429, means: 'RATE_LIMITED', because: 'RFC 6585 §4, whatever the code.' },
  { status: 403, means: 'PERMISSION_DENIED', because: 'AWS answers 403 when access is refused, whatever the code.' },
  { status: 413, means: 'FORMAT_ERROR', because: 'The message is larger than SES takes.' },
];
