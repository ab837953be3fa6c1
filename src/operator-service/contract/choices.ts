import { ERROR_TYPES } from '../../core/model/error-types.ts';
import { SEND_STATUSES } from '../../core/model/notification.ts';
import { NONE } from '../../core/operator/search-filter.ts';

/** What operators can choose from, and how lines for the shell are written: the page runs these, too. */

/** A viewer sees everything but recipients and changes nothing; an operator does what `ops` does. */
export const ROLES = ['viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** `due` and `dead` list all unfinished or dead notifications, whatever their age; the others need a period. */
export const LIST_STATUSES = ['due', 'dead', ...SEND_STATUSES] as const;

export const LAST_ERRORS = [...ERROR_TYPES, NONE] as const;

export const ACTIONS = ['retry', 'cancel', 'give_up'] as const;
export type Action = (typeof ACTIONS)[number];

/**
 * `redrive`: given-up notifications start anew with a full budget. `retry`: what waits for its retry is attempted now.
 * `cancel`: what waits is ended. `give_up`: dead notifications leave the list for good.
 */
export const OPERATION_KINDS = ['redrive', 'retry', 'cancel', 'give_up'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

/**
 * `previewing` counts what matches, `ready` waits for its start. `pausing` and `cancelling` end with the page in
 * progress. `failed` can be resumed, too.
 */
export const OPERATION_STATUSES = ['previewing', 'ready', 'running', 'paused', 'done', 'cancelled', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const OPERATION_ACTIONS = ['start', 'pause', 'resume', 'cancel'] as const;
export type OperationAction = (typeof OPERATION_ACTIONS)[number];

export const EMAIL_ACTIONS = ['retry', 'pause', 'resume', 'cancel'] as const;
export type EmailAction = (typeof EMAIL_ACTIONS)[number];

export const KEY_SCOPES = ['send', 'read', 'operate', 'newsletters:read', 'newsletters:write'] as const;

/** The full line for the shell; arguments that the shell would read otherwise are quoted. */
export function shellCommand(command: string, local: boolean, args: readonly string[] = []): string {
  return [`npm run ops -- ${command}`, ...args.map(quoted), ...(local ? ['--local'] : [])].join(' ');
}

/** Ids come from other systems: whoever copies the line must not run what an id says. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * An id as a segment of a path. API Gateway decodes paths twice and splits them in between: an id with one of these
 * characters goes as `~` and its base64url, as no escape of it comes through.
 */
export function pathSegment(id: string): string {
  if (!/[/\\?#%+;~\p{Cc}]|^\.*$/u.test(id)) return encodeURIComponent(id);
  const bytes = String.fromCharCode(...new TextEncoder().encode(id));
  return `~${btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}
