import { CHANNELS, type Channel, PRIORITIES, PRIORITY_OF_LEVEL } from '../model/channels.ts';
import { type ForeignRow, MESSAGE_FORMATS, RECIPIENT_TYPES, SEND_STATUSES } from '../model/notification.ts';
import type { RowFault } from '../model/work-index.ts';
import {
  boolean,
  brokenRules,
  type ColumnRule,
  channelFaults,
  count,
  freeText,
  id,
  isAbsent,
  OWN_COLUMN_RULES,
  oneOf,
  required,
  text,
  time,
} from '../model/work-rules.ts';

/** Columns that may change after the image was taken, by the row's writer or us; indexing must not overwrite that. */
export const IMAGE_COLUMNS = [
  'send_status',
  'is_deleted',
  'created_at',
  'created_by',
  'tenant_id',
  'notification_type',
  'channel',
  'priority',
  'priority_level',
  'send_attempts',
  'retry_count',
  'max_retry_count',
  'next_retry_at',
  'recipient_address',
  'subject',
  'message_body',
  'message_format',
  'fallback_channel',
  'fallback_recipient',
  'fallback_integration_config_id',
  'response_message',
  'error_details',
  'failure_reason',
  'give_up',
  'last_attempt',
  'work_queue',
  'work_at',
] as const;

/**
 * Column by column: his-notification-log-table.md (types, NOT NULL, CHECK) and batch-952-notification-retry.md §3.1.
 */
const COLUMN_RULES: readonly ColumnRule[] = [
  required('tenant_id'),
  ...['log_id', 'tenant_id'].map((column) => id(column, 50)),
  ...['notification_id', 'setting_id', 'template_id', 'integration_config_id'].map((column) => text(column, 50)),
  ...['created_by', 'updated_by'].map((column) => text(column, 50)),
  text('recipient_address', 500),
  text('fallback_recipient', 500),
  text('fallback_integration_config_id', 50),
  text('subject', 500),
  text('response_code', 20),
  ...['message_body', 'response_message', 'error_message', 'error_details', 'failure_reason'].map(freeText),
  oneOf(
    'notification_type',
    'chk_notification_log_type',
    CHANNELS.map((channel) => channel.toUpperCase()),
  ),
  oneOf('channel', 'chk_notification_log_type', CHANNELS),
  oneOf('fallback_channel', 'fallback', CHANNELS),
  oneOf('recipient_type', 'chk_notification_log_recipient_type', RECIPIENT_TYPES),
  oneOf('message_format', 'chk_notification_log_format', MESSAGE_FORMATS),
  boolean('is_deleted'),
  required('send_status'),
  oneOf('send_status', 'chk_notification_log_status', SEND_STATUSES),
  oneOf('priority_level', 'chk_notification_log_priority', Object.keys(PRIORITY_OF_LEVEL)),
  oneOf('priority', 'priority', PRIORITIES),
  count('send_attempts', 'chk_notification_log_attempts_positive'),
  count('max_retry_count', 'chk_notification_log_attempts_positive'),
  count('retry_count', 'INTEGER'),
  ...['scheduled_at', 'sent_at', 'next_retry_at', 'first_attempt_at', 'created_at', 'updated_at'].map(time),
  ...OWN_COLUMN_RULES,
];

interface RowRule extends RowFault {
  readonly holds: (row: ForeignRow) => boolean;
}

/** Rules between columns. */
const ROW_RULES: readonly RowRule[] = [
  {
    column: 'notification_type',
    rule: 'NOT NULL',
    expected: `notification_type (${CHANNELS.map((channel) => channel.toUpperCase()).join(', ')}) or channel in lower case`,
    holds: (row) => !isAbsent(row['notification_type']) || !isAbsent(row['channel']),
  },
  {
    column: 'channel',
    rule: 'channel = notification_type',
    expected: 'the channel that notification_type names, in lower case',
    holds: ({ channel, notification_type: type }) =>
      typeof channel !== 'string' || typeof type !== 'string' || channel.toUpperCase() === type,
  },
  {
    column: 'fallback_channel',
    rule: 'fallback',
    expected: `one of ${CHANNELS.join(', ')}, where there is a fallback_recipient`,
    holds: (row) => isAbsent(row['fallback_recipient']) || !isAbsent(row['fallback_channel']),
  },
  {
    column: 'send_attempts',
    rule: 'chk_notification_log_attempts_limit',
    expected: 'at most max_retry_count + 1',
    holds: ({ send_attempts, max_retry_count }) =>
      typeof send_attempts !== 'number' || typeof max_retry_count !== 'number' || send_attempts <= max_retry_count + 1,
  },
];

/** The rules that a row breaks; values may be personal and are never quoted. @param channels those of the stage */
export function rowFaults(row: ForeignRow, channels: readonly Channel[] = CHANNELS): RowFault[] {
  const between = ROW_RULES.filter(({ holds }) => !holds(row));
  const { channel, notification_type: type } = row;
  return [
    ...brokenRules(COLUMN_RULES, row),
    ...between.map(({ column, rule, expected }) => ({ column, rule, expected })),
    ...channelFaults(channel ?? (typeof type === 'string' ? type.toLowerCase() : type), channels),
  ];
}

/** The broken rules of the content, for a row that contains it. */
export function contentFaults(row: ForeignRow): RowFault[] {
  const fallback = isAbsent(row['fallback_channel']) ? [] : [required('fallback_recipient')];
  return brokenRules([required('recipient_address'), required('message_body'), ...fallback], row);
}
