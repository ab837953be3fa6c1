import { CONTENT_COLUMNS, FALLBACK_COLUMNS, type ForeignRow } from '../model/foreign-row.ts';
import type { MessageFormat, NotificationContent } from '../model/notification.ts';

/** TEXT columns that may be as long as a body, and would make every write of the row as expensive. */
export const NOTES = ['response_message', 'error_details'] as const;

export function isContent(column: string): boolean {
  return [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].some((candidate) => candidate === column);
}

/**
 * The content of a row, and the columns that it leaves.
 * @param how.notes whether the answers in the row are its writer's
 * @param how.amends the row has only a part of the content
 */
export function moveContent(row: ForeignRow, how: { readonly notes: boolean; readonly amends: boolean }) {
  const fallback = FALLBACK_COLUMNS.filter((column) => row[column] !== undefined);
  const noted = how.notes ? NOTES : [];
  const remove = [...CONTENT_COLUMNS, ...fallback, ...noted];
  return how.amends
    ? { content: partOf(row), amends: true as const, remove }
    : { content: contentOf(row, noted), remove };
}

function partOf(row: ForeignRow): Partial<NotificationContent> {
  const given = (column: string) => (row[column] ?? '') !== '';
  return {
    ...(given('recipient_address') && { recipient: String(row['recipient_address']) }),
    ...(given('subject') && { subject: String(row['subject']) }),
    ...(given('message_body') && { body: String(row['message_body']) }),
    ...(given('message_format') && { format: row['message_format'] as MessageFormat }),
    ...fallbackOf(row),
  };
}

function contentOf(row: ForeignRow, notes: readonly string[]): NotificationContent {
  const { subject } = row;
  return {
    recipient: String(row['recipient_address']),
    ...(typeof subject === 'string' && subject !== '' && { subject }),
    body: String(row['message_body']),
    format: (row['message_format'] ?? 'PLAIN') as MessageFormat,
    ...fallbackOf(row),
    ...Object.fromEntries(notes.filter((name) => typeof row[name] === 'string').map((name) => [name, row[name]])),
  };
}

function fallbackOf(row: ForeignRow): Pick<NotificationContent, 'fallback'> {
  const { fallback_channel, fallback_recipient: recipient, fallback_integration_config_id: integration } = row;
  if (typeof fallback_channel !== 'string' || typeof recipient !== 'string') return {};
  return { fallback: { recipient, ...(typeof integration === 'string' && { integration_config_id: integration }) } };
}
