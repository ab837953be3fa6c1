import * as v from 'valibot';
import { CHANNELS, PRIORITIES } from '../../core/model/channels.ts';
import { ERROR_TYPES } from '../../core/model/error-types.ts';
import { type RetryRecord, SEND_STATUSES } from '../../core/model/notification.ts';
import { NONE } from '../../core/operator/search-filter.ts';
import type { NotificationView } from '../../core/operator/views/notification-view.ts';
import { cursor, id, limit, moment, requestId } from './fields.ts';
import type { NextPage, ShellCommand } from './page.ts';

/** `due` and `dead` list all unfinished or dead notifications, whatever their age; the others need a period. */
export const LIST_STATUSES = ['due', 'dead', ...SEND_STATUSES] as const;

export const LAST_ERRORS = [...ERROR_TYPES, NONE] as const;

/** The filter of notifications: of lists, of groups, of bulk operations. All conditions must hold. */
export const filterFields = {
  channel: v.optional(v.picklist(CHANNELS)),
  priority: v.optional(v.picklist(PRIORITIES)),
  tenant: v.optional(id),
  /** The last error, or the reason for giving up. */
  error_type: v.optional(v.picklist(ERROR_TYPES)),
  /** The reason for giving up alone. */
  failure_reason: v.optional(v.picklist(ERROR_TYPES)),
  /** The last error alone; `(none)`: no error of ours. */
  last_error: v.optional(v.picklist(LAST_ERRORS)),
  /** integration_config_id; `(none)`: without one. */
  integration: v.optional(id),
  /** From `POST /api/recipient-hash`, so that no URL holds an address. It needs `tenant`. */
  recipient_hash: v.optional(v.pipe(v.string(), v.regex(/^[\w-]{20,100}$/))),
  /** When it was created. */
  from: v.optional(moment),
  to: v.optional(moment),
} as const;

/** `GET /api/notifications?…`: newest first, or urgent first with `due` and `dead`. By default of the last 24 hours. */
export const notificationsQuery = v.strictObject({
  status: v.optional(v.picklist(LIST_STATUSES)),
  ...filterFields,
  /** A log_id, or with `tenant` a notification_id: exact. */
  q: v.optional(id),
  limit,
  cursor,
});

/** `state` is what becomes of it (RowState); no recipient and no content. */
export interface NotificationList extends NextPage {
  readonly notifications: readonly NotificationView[];
}

/** `POST /api/recipient-hash`: for the filter. */
export const recipientHashBody = v.strictObject({
  tenant: id,
  recipient: v.pipe(v.string(), v.minLength(1), v.maxLength(500)),
});

export interface RecipientHash {
  readonly recipient_hash: string;
}

/** An attempt, newest last, with the provider's own answer. */
export interface AttemptView extends RetryRecord {
  /** What held the attempt back, in words; absent: it was made. */
  readonly held?: string;
}

export const ACTIONS = ['retry', 'cancel', 'give_up'] as const;
export type Action = (typeof ACTIONS)[number];

/** Whether an action is possible now, and why not. `give_up` takes a dead notification off the list for good. */
export type ActionCheck = { readonly possible: true } | { readonly possible: false; readonly because: string };

/** `GET /api/notifications/{log_id}`. */
export interface NotificationDetail {
  readonly notification: NotificationView;
  readonly attempts: readonly AttemptView[];
  /** What a person should do about the failure; null when nothing is left to do. */
  readonly remedy: string | null;
  readonly actions: Readonly<Record<Action, ActionCheck>>;
  readonly commands: readonly ShellCommand[];
}

/** `POST /api/notifications/{log_id}/reveal`: audited; operators only. */
export const revealBody = v.strictObject({ request_id: requestId });

export interface Revealed {
  readonly recipient: string;
}

/** `POST /api/actions`: the same request_id again gives the same answer, and acts once. */
export const actionBody = v.strictObject({
  request_id: requestId,
  action: v.picklist(ACTIONS),
  log_ids: v.pipe(v.array(id), v.minLength(1), v.maxLength(100)),
  /** Says what the action would do. */
  dry_run: v.optional(v.boolean(), false),
});

interface ActionResult {
  readonly log_id: string;
  /** `queued`, `cancelled`, `given_up` (dry run: would be); `ended`, `refused`, `failed`, `not_found`: because. */
  readonly result: 'queued' | 'cancelled' | 'given_up' | 'ended' | 'refused' | 'failed' | 'not_found';
  readonly because?: string;
}

export interface ActionAnswer {
  readonly request_id: string;
  readonly dry_run: boolean;
  /** Whether an earlier request with this id did it. */
  readonly repeated: boolean;
  readonly results: readonly ActionResult[];
  readonly command: string;
}
