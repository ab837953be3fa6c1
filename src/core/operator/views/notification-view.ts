import { OUT_OF_TIME } from '../../delivery/ports.ts';
import { remedyOf } from '../../model/error-types.ts';
import { createdAt } from '../../model/history-index.ts';
import { asNotification, type ForeignRow, type RetryRecord, type WriterNotes } from '../../model/notification.ts';
import { stateOf } from '../../model/row-state.ts';
import { jsonObject, shownText, withoutAddresses } from '../../model/text.ts';
import { type BreakerStatus, type Hold, holdOf, type ShownState } from './held.ts';

/**
 * The columns that an operator may see. It lists what is shown, not what is hidden: a row that was set aside still
 * contains its recipient and body, and a writer may add its own columns (docs/architecture.md, invariant 9).
 */
const SHOWN = [
  ...['log_id', 'tenant_id', 'notification_id', 'channel', 'notification_type', 'priority', 'priority_level'],
  ...['recipient_type', 'integration_config_id', 'setting_id', 'template_id'],
  ...['send_status', 'failure_reason', 'error_type', 'error_message', 'error_details'],
  ...['response_code', 'response_message'],
  ...['send_attempts', 'attempts_left', 'max_retry_count', 'retry_count', 'last_attempt', 'redrive_count'],
  ...['is_deleted', 'erased_at', 'replay_id', 'fallback_channel', 'successor_log_id', 'predecessor_log_id'],
  ...['created_at', 'scheduled_at', 'first_attempt_at', 'next_retry_at', 'claim_until', 'sent_at'],
  ...['delivered_at', 'opened_at', 'bounced_at', 'complained_at', 'suppressed', 'give_up'],
  ...['updated_at', 'work_queue', 'work_at', 'dead_message_id', 'dead_run_id', 'traceparent'],
];

/** Free text from other systems may quote the recipient. */
const FREE_TEXT = new Set<string>(['error_message', 'error_details', 'response_message']);

/** All other columns are text, whatever another program wrote there. */
const COUNTS_AND_FLAGS = new Set<string>([
  ...['send_attempts', 'attempts_left', 'max_retry_count', 'retry_count', 'last_attempt', 'redrive_count'],
  ...['is_deleted', 'suppressed'],
]);

export type NotificationView = Readonly<Record<string, unknown>> & { readonly state: ShownState } & Partial<Hold>;

/** A row without message and recipient, with its state. @param notes of its writer, who may have left some */
export function viewOf(row: ForeignRow, now: Date, notes: WriterNotes = {}): NotificationView {
  const shown = SHOWN.filter((name) => row[name] !== undefined).map((name) => [name, shownValue(name, row[name])]);
  return { ...Object.fromEntries(shown), ...shownNotes(notes), state: stateOf(asNotification(row), now) };
}

/** @param breakers those that are not closed: they hold what is unfinished */
export function heldView(view: NotificationView, row: ForeignRow, breakers: readonly BreakerStatus[], now: Date) {
  const hold = holdOf(row, breakers, now);
  return hold === undefined ? view : { ...view, state: 'held' as const, ...hold };
}

/** The same for a list, with the time of creation in one form, whatever form its writer chose. */
export function datedView(row: ForeignRow, now: Date, breakers: readonly BreakerStatus[] = []): NotificationView {
  const view = heldView(viewOf(row, now), row, breakers, now);
  return { ...view, created_at: createdAt(row) || view['created_at'] };
}

/** What a row's writer noted about its own attempt, beside the columns of ours. */
export function shownNotes({ response_message, error_details }: WriterNotes) {
  return {
    ...(response_message && { writer_response_message: withoutAddresses(response_message) }),
    ...(error_details && { writer_error_details: withoutAddresses(error_details) }),
  };
}

const MALFORMED = 'Its row is malformed: its writer has to correct the columns, and to remove failure_reason.';

/** What a person should do about the failure. Null when nothing is left to do. */
export function remedyFor(row: ForeignRow): string | null {
  const notification = asNotification(row);
  const { send_status, failure_reason, error_type, error_message, channel } = notification;
  const cause = failure_reason ?? error_type;
  if (send_status === 'SUCCESS' || cause === undefined) return null;
  // At any time: a malformed row is not due.
  if (stateOf(notification, new Date(0)) === 'set_aside') return MALFORMED;
  return remedyOf(cause, { error_type, error_message }, channel);
}

function shownValue(name: string, value: unknown): unknown {
  if (typeof value === 'string') return FREE_TEXT.has(name) ? withoutAddresses(value) : value;
  const isOwn = typeof value === 'number' || typeof value === 'boolean';
  return isOwn && COUNTS_AND_FLAGS.has(name) ? value : (shownText(value) ?? null);
}

/** What held an attempt back, in words; undefined: it was made. */
export function heldBy({ error_details = '' }: Pick<RetryRecord, 'error_details'>): string | undefined {
  // The record of what was held has its Holder, and nothing else.
  const [[by, whom] = [], ...more] = Object.entries(jsonObject(error_details) ?? {});
  if (more.length > 0 || typeof whom !== 'string') return undefined;
  if (by === 'worker' && whom === OUT_OF_TIME.worker) return 'not sent: the worker had no time left';
  if (by === 'breaker') return `held: ${whom} is down`;
  return by === 'budget' ? `held: the budget of ${whom} is used up` : undefined;
}
