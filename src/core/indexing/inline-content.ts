import type { ForeignRow } from '../model/foreign-row.ts';
import type { MessageFormat, NotificationContent } from '../model/notification.ts';

const CONTENT_COLUMNS = ['recipient_address', 'subject', 'message_body', 'message_format'] as const;
/** The fallback recipient (failover.ts); few rows have one. */
const FALLBACK_COLUMNS = ['fallback_recipient', 'fallback_integration_config_id'] as const;

/** TEXT columns that may be as long as a body, and would make every write of the row as expensive. */
export const NOTES = ['response_message', 'error_details'] as const;

/** The row holds content or recipients, which must not stay in it. */
export function hasContent(row: ForeignRow): boolean {
  return [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].some((column) => (row[column] ?? null) !== null);
}

export function isContent(column: string): boolean {
  return [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].some((candidate) => candidate === column);
}

/** The content of a row, and the columns that it leaves. */
export function moveContent(row: ForeignRow) {
  const fallback = FALLBACK_COLUMNS.filter((column) => row[column] !== undefined);
  return { content: contentOf(row), remove: [...CONTENT_COLUMNS, ...fallback, ...NOTES] };
}

function contentOf(row: ForeignRow): NotificationContent {
  const { subject } = row;
  return {
    recipient: String(row['recipient_address']),
    ...(typeof subject === 'string' && subject !== '' && { subject }),
    body: String(row['message_body']),
    format: (row['message_format'] ?? 'PLAIN') as MessageFormat,
    ...fallbackOf(row),
    ...Object.fromEntries(NOTES.filter((name) => typeof row[name] === 'string').map((name) => [name, row[name]])),
  };
}

function fallbackOf(row: ForeignRow): Pick<NotificationContent, 'fallback'> {
  const { fallback_channel, fallback_recipient: recipient, fallback_integration_config_id: integration } = row;
  if (typeof fallback_channel !== 'string' || typeof recipient !== 'string') return {};
  return { fallback: { recipient, ...(typeof integration === 'string' && { integration_config_id: integration }) } };
}
