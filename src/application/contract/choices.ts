import { SCOPES } from '../../core/intake/api-scopes.ts';
import { CHANNELS, PRIORITIES } from '../../core/model/channels.ts';
import { ERROR_TYPES } from '../../core/model/error-types.ts';
import { SEND_STATUSES } from '../../core/model/notification.ts';
import { NONE } from '../../core/operator/search-filter.ts';

/** What operators can choose from, and how lines for the shell are written: the page runs these, too. */

/** A viewer sees everything but recipients and changes nothing; an operator does what `ops` does. */
export const ROLES = ['viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** What is unfinished: all of it, or one of its states, as `ops status` counts them. */
export const UNFINISHED_STATUSES = ['unfinished', 'due', 'waiting', 'held', 'in_flight'] as const;
/** These and `dead` list notifications of any age; the others are what a row's `send_status` says, within a period. */
export const LIST_STATUSES = [...UNFINISHED_STATUSES, 'dead', ...SEND_STATUSES] as const;

/** In a filter: without an error, or without an integration. */
export const WITHOUT = NONE;
export const LAST_ERRORS = [...ERROR_TYPES, WITHOUT] as const;

export interface Condition {
  readonly label: string;
  /** What it asks for, to whom asks by an option. */
  readonly says?: string;
  /** What it may be, where that are a few. */
  readonly values?: readonly string[];
}

/** The conditions of a filter of notifications: of lists, of groups, of bulk operations. All must hold. */
export const CONDITIONS = {
  channel: { label: 'Channel', says: 'only this channel', values: CHANNELS },
  priority: { label: 'Priority', says: 'only this priority', values: PRIORITIES },
  tenant: { label: 'Tenant', says: 'only this tenant' },
  error_type: { label: 'Error', says: 'last error, or reason for giving up', values: ERROR_TYPES },
  // These three are what groups of dead letters are told apart by.
  failure_reason: { label: 'Failure reason', says: 'only the reason for giving up', values: ERROR_TYPES },
  last_error: {
    label: 'Last error',
    says: `only the last error; '${WITHOUT}': those without one`,
    values: LAST_ERRORS,
  },
  integration: { label: 'Integration', says: `only this integration_config_id; '${WITHOUT}': those without one` },
  /** From `POST /api/recipient-hash`, so that no URL holds an address. An operation needs one of its tenant. */
  recipient_hash: { label: 'Recipient' },
  from: { label: 'Created since', says: 'created at this time or later: a time, or how long ago (6h, 2d)' },
  to: { label: 'Created until', says: 'created at this time or earlier' },
} as const satisfies Readonly<Record<string, Condition>>;
export type ConditionName = keyof typeof CONDITIONS;

/** A `recipient_hash` that finds the recipient in any tenant is the recipient, sealed. No hash has a dot. */
export const isOfAnyTenant = (recipient_hash = '') => recipient_hash.includes('.');

export const ACTIONS = ['redrive', 'retry', 'cancel', 'give_up'] as const;
export type Action = (typeof ACTIONS)[number];
/** Notifications that one action takes; more are an operation. */
export const MOST_CHOSEN = 100;

/**
 * `redrive`: given-up notifications start anew with a full budget. `retry`: what waits for its retry is attempted now.
 * `cancel`: what waits is ended. `give_up`: dead notifications leave the list for good. `correct`: dead notifications are
 * sent by another integration, in another life.
 */
export const OPERATION_KINDS = ['redrive', 'retry', 'cancel', 'give_up', 'correct'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

/** `ready` waits for its start. `pausing` and `cancelling` end with the page in progress. `failed` can be resumed. */
export const OPERATION_STATUSES = ['previewing', 'ready', 'running', 'paused', 'done', 'cancelled', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const OPERATION_ACTIONS = ['start', 'pause', 'resume', 'cancel'] as const;
export type OperationAction = (typeof OPERATION_ACTIONS)[number];

export const EMAIL_ACTIONS = ['retry', 'pause', 'resume', 'cancel'] as const;
export type EmailAction = (typeof EMAIL_ACTIONS)[number];

/** Bytes of a file of members that a request takes, as base64 in a body of 1 MB; a longer one is for the command. */
export const MOST_FILE_BYTES = 700_000;

/** What an API key may do. */
export const KEY_SCOPES = SCOPES;

/**
 * The full line for the shell. Ids come from other systems: whoever copies the line must not run what an id says, and an
 * id must not be read as an option.
 * @param options flags and their values
 * @param ids what is no option, last
 */
export function shellCommand(
  command: string,
  local: boolean,
  options: readonly string[] = [],
  ids: readonly string[] = [],
): string {
  const before = [...options.map(quoted), ...(local ? ['--local'] : [])];
  const plain = ids.map(quoted);
  const rest = ids.some((id) => id.startsWith('-')) ? [...before, '--', ...plain] : [...plain, ...before];
  return [`npm run ops -- ${command}`, ...rest].join(' ');
}

/** What a terminal would obey when the line is pasted, and what shows another line than it pastes. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text as bash and zsh read it as one word. */
export function quoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (text.search(UNSEEN) < 0) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replace(/[\\']/g, '\\$&').replace(UNSEEN, (one) => {
    const code = one.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  });
  return `$'${escaped}'`;
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');
