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

/** A redrive sends what the notification has: where that is wrong, a person changes it. */
const CORRECTED = 'Correct in the console, or ops correct LOG_ID, changes and resends it.';

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
    remedy: `Correct the recipient: ${CORRECTED}`,
  },
  AUTH_FAILED: { ...permanent, remedy: "Check the integration's settings and credential, then redrive." },
  FORMAT_ERROR: { ...permanent, remedy: `Fix the template, and the text of this one: ${CORRECTED}` },
  PERMISSION_DENIED: {
    ...permanent,
    remedy: 'Grant the integration the access that the error message names, then redrive.',
  },
  MAX_RETRIES: { ...exhausted, remedy: 'Find out what failed last and remove the cause, then redrive.' },
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
 * @param last what failed last: the type of the error, undefined if there was none, and its message
 */
export function remedyOf(
  failure_reason: ErrorType,
  { error_type: last_error, error_message }: LastFailure,
  channel: Channel | undefined,
): string {
  const ours = failure_reason === 'CANCELLED' ? undefined : ownRepair(error_message);
  if (ours?.corrects !== undefined) return `${ours.repair}: ${CORRECTED}`;
  if (ours !== undefined) return thenRedrive(ours.repair, failure_reason);
  if (
    policyOf(failure_reason).class !== 'exhausted' ||
    !policyOf(failure_reason).dead_letter ||
    last_error === undefined
  )
    return policyOf(failure_reason).remedy;
  const repair = entryOf(REPAIRS, last_error)?.(entryOf(PROVIDER_NAMES, channel) ?? 'the provider');
  if (repair === undefined)
    return policyOf(policyOf(last_error).class === 'permanent' ? last_error : failure_reason).remedy;
  return thenRedrive(repair, failure_reason);
}

interface LastFailure {
  readonly error_type?: ErrorType | undefined;
  readonly error_message?: unknown;
}

function thenRedrive(repair: string, failure_reason: ErrorType): string {
  if (failure_reason === 'EXPIRED')
    return `${repair}, then redrive what is still worth sending; delete the dead letters of the rest.`;
  return `${repair}, then redrive.`;
}

/** The types of a provider's answer; the exhausted types are our own decisions. */
export type ProviderErrorType = Exclude<ErrorType, 'MAX_RETRIES' | 'EXPIRED' | 'CANCELLED'>;

interface Fault {
  readonly error_type: ProviderErrorType;
  /** What a person does about it, before a redrive or by a correction. */
  readonly repair: string;
  /** What of the notification is wrong; absent: something outside it. */
  readonly corrects?: 'recipient' | 'body' | 'integration';
}

/** What we refuse before a provider is asked. Our message begins with its code: a row has no room for more. */
export const OWN_FAULTS = {
  no_route: {
    error_type: 'AUTH_FAILED',
    repair:
      'Set integration_config_id to an integration whose secret has token or webhook_url, or give the URL of an incoming ' +
      'webhook as recipient',
    corrects: 'integration',
  },
  no_workflow: {
    error_type: 'AUTH_FAILED',
    repair:
      'Set integration_config_id to an integration whose secret has webhook_url, or give the URL of a workflow as recipient',
    corrects: 'integration',
  },
  no_target: {
    error_type: 'INVALID_RECIPIENT',
    repair: "Give an https URL as recipient, or url in the integration's secret",
    corrects: 'recipient',
  },
  bad_target: {
    error_type: 'INVALID_RECIPIENT',
    repair: "Correct the URL: the recipient, or url or webhook_url in the integration's secret",
    corrects: 'recipient',
  },
  bad_address: {
    error_type: 'INVALID_RECIPIENT',
    repair: 'Correct the recipient to one e-mail address: ASCII characters, an @ sign, and a domain',
    corrects: 'recipient',
  },
  bad_sender: {
    error_type: 'AUTH_FAILED',
    repair: "Correct from in the integration's secret, or the stage's senderAddress",
  },
  too_long: { error_type: 'FORMAT_ERROR', repair: 'Shorten message_body', corrects: 'body' },
  too_large: { error_type: 'FORMAT_ERROR', repair: 'Shorten subject or message_body', corrects: 'body' },
  too_intricate: { error_type: 'FORMAT_ERROR', repair: 'Simplify message_body, or send it as PLAIN', corrects: 'body' },
  bad_integration: {
    error_type: 'AUTH_FAILED',
    repair: 'Correct integration_config_id to 1 to 100 letters, digits or any of _ + = . @ -',
    corrects: 'integration',
  },
  no_secret: {
    error_type: 'AUTH_FAILED',
    repair: "Store the integration's credential as secret notification-retry/STAGE/integrations/CHANNEL/INTEGRATION",
  },
  not_usable: {
    error_type: 'AUTH_FAILED',
    repair:
      "Create the secret, or write the tenant's tenant_id into it, or * for every tenant: notifications from the API need one " +
      'of the two',
  },
  foreign_secret: {
    error_type: 'PERMISSION_DENIED',
    repair: "Correct tenant_id in the secret and redrive, or choose an integration of the tenant's",
    corrects: 'integration',
  },
  bad_secret: {
    error_type: 'AUTH_FAILED',
    repair: "Correct the fields of the secret that the attempt's record names",
  },
} as const satisfies Record<string, Fault>;

export type OwnFault = keyof typeof OWN_FAULTS;

/**
 * Refuses what no provider has to be asked about. The message is the code and a sentence that a row has room for; what a
 * person does about it follows from the code wherever the message is shown.
 * @param says what is wrong, with what is special to this notification; without address, body or credential
 */
export function refusedByUs(fault: OwnFault, says: string) {
  return { ok: false, error_type: OWN_FAULTS[fault].error_type, message: `${fault}: ${says}` } as const;
}

const CODE = /^([a-z_]{1,20}): /;

/** The code of what we refused; undefined for any other message. */
export function ownFaultIn(error_message: unknown): OwnFault | undefined {
  const code = typeof error_message === 'string' ? CODE.exec(error_message)?.[1] : undefined;
  return entryOf<Fault>(OWN_FAULTS, code) && (code as OwnFault);
}

function ownRepair(error_message: unknown): Fault | undefined {
  const fault = ownFaultIn(error_message);
  return fault && OWN_FAULTS[fault];
}

/** What an operator corrects of a notification that was given up; undefined: a redrive sends it as it is. */
export function wrongPart(failure_reason: ErrorType | undefined, error_message: unknown): Fault['corrects'] {
  const ours = failure_reason === 'CANCELLED' ? undefined : ownRepair(error_message);
  if (ours !== undefined) return ours.corrects;
  if (failure_reason === 'INVALID_RECIPIENT') return 'recipient';
  return failure_reason === 'FORMAT_ERROR' ? 'body' : undefined;
}
