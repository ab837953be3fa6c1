import type { Channel } from './channels.ts';
import { entryOf } from './text.ts';

/** What a type of error means for the retry: batch-952-notification-retry.md §6, as data. */
export interface ErrorPolicy {
  readonly class: 'transient' | 'permanent' | 'exhausted';
  readonly backoff_factor: number;
  /** Whether a failed attempt of this type uses up one of the notification's retries. */
  readonly counted: boolean;
  /** Whether a notification that ends with this error waits for an operator in the channel's DLQ. */
  readonly dead_letter: boolean;
  readonly remedy: string;
}

const transient = { class: 'transient', backoff_factor: 1, counted: true, dead_letter: false } as const;
const permanent = { class: 'permanent', backoff_factor: 1, counted: true, dead_letter: true } as const;
const exhausted = { class: 'exhausted', backoff_factor: 1, counted: false, dead_letter: true } as const;

export const ERROR_POLICY = {
  NETWORK_TIMEOUT: {
    ...transient,
    remedy: 'None yet: it is retried. If it stays, check that the provider can be reached.',
  },
  UNKNOWN: { ...transient, remedy: "None yet: it is retried. If it stays, read the retry record's error_details." },
  SERVER_OVERLOAD: {
    ...transient,
    backoff_factor: 2,
    remedy: "None yet: it is retried at longer intervals. If it stays, see the provider's status page.",
  },
  RATE_LIMITED: {
    ...transient,
    counted: false,
    remedy:
      "None: it is sent once the provider's limit lifts. If it happens often, ask the provider for a higher limit.",
  },
  AUTH_TEMPORARY: {
    ...transient,
    remedy: 'None yet: the credential is read anew and the send retried. If it stays, rotate the credential.',
  },
  INVALID_RECIPIENT: {
    ...permanent,
    dead_letter: false,
    remedy: 'Correct the recipient and hand the notification over again; sending to this one is pointless.',
  },
  AUTH_FAILED: { ...permanent, remedy: "Check the integration's settings and credential, then redrive." },
  FORMAT_ERROR: { ...permanent, remedy: 'Fix the template or the row that the error message names, then redrive.' },
  PERMISSION_DENIED: {
    ...permanent,
    remedy: 'Grant the integration the access that the error message names, then redrive.',
  },
  MAX_RETRIES: { ...exhausted, remedy: 'Remove the cause that the error message names, then redrive.' },
  EXPIRED: {
    ...exhausted,
    remedy:
      'Decide whether the notification is still worth sending; if so, redrive it, if not, delete its dead letter.',
  },
  CANCELLED: {
    ...exhausted,
    dead_letter: false,
    remedy:
      'None: an operator cancelled it, or its writer deleted it (is_deleted). If it is to be sent after all, take that ' +
      'back and retry it by its log_id.',
  },
} as const satisfies Record<string, ErrorPolicy>;

export type ErrorType = keyof typeof ERROR_POLICY;

export const ERROR_TYPES = Object.keys(ERROR_POLICY) as readonly ErrorType[];

/** Of a column that anyone may have written: undefined for any other text. */
export const errorTypeIn = (column: unknown): ErrorType | undefined => ERROR_TYPES.find((type) => type === column);

/** The reason of a row that another program wrote: none of ours. */
const FOREIGN_REASON: ErrorPolicy = {
  ...exhausted,
  remedy: 'Another program wrote this reason. Ask its owners, or correct the row and retry it by its log_id.',
};

/** The policy of a type, also of a text in its place that is none. */
export function policyOf(type: ErrorType): ErrorPolicy {
  return entryOf<ErrorPolicy>(ERROR_POLICY, type) ?? FOREIGN_REASON;
}

const PROVIDER_NAMES = {
  email: 'Amazon SES',
  slack: 'Slack',
  teams: 'Teams',
  webhook: 'the receiver',
} as const satisfies Record<Channel, string>;

/** What brings a provider back whose error stayed until the retries, or the time, were used up. */
const REPAIRS: Partial<Record<ErrorType, (provider: string) => string>> = {
  NETWORK_TIMEOUT: (provider) => `Check that ${provider} can be reached`,
  SERVER_OVERLOAD: (provider) => `Check that ${provider} is up`,
  RATE_LIMITED: (provider) => `Ask ${provider === 'the receiver' ? 'its operator' : provider} for a higher limit`,
  AUTH_TEMPORARY: () => 'Rotate the credential',
  UNKNOWN: (provider) => `Find out from the last answer what ${provider} refuses`,
};

/**
 * What a person should do about a notification that was given up. What ended it says when to stop; what failed last says
 * what to repair.
 * @param last_error the last answer of the provider; undefined if there was none
 */
export function remedyOf(
  failure_reason: ErrorType,
  last_error: ErrorType | undefined,
  channel: Channel | undefined,
): string {
  if (
    policyOf(failure_reason).class !== 'exhausted' ||
    !policyOf(failure_reason).dead_letter ||
    last_error === undefined
  )
    return policyOf(failure_reason).remedy;
  const repair = entryOf(REPAIRS, last_error)?.(entryOf(PROVIDER_NAMES, channel) ?? 'the provider');
  if (repair === undefined)
    return policyOf(policyOf(last_error).class === 'permanent' ? last_error : failure_reason).remedy;
  return failure_reason === 'EXPIRED'
    ? `${repair}, then redrive what is still worth sending; delete the dead letters of the rest.`
    : `${repair}, then redrive.`;
}

/** The types of a provider's answer; the exhausted types are our own decisions. */
export type ProviderErrorType = Exclude<ErrorType, 'MAX_RETRIES' | 'EXPIRED' | 'CANCELLED'>;
