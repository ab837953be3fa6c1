import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { NumberValueImpl } from '@aws-sdk/util-dynamodb';
import type { ContentOwner } from '../../../core/indexing/index-row.ts';
import {
  INTAKE_API,
  NOTES,
  type NotificationContent,
  type NotificationRow,
  SEALED,
  type WriterNotes,
} from '../../../core/model/notification.ts';
import { asRead, type Guard } from '../../../core/model/row-change.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import { type Item, toForeignRow, toItem } from '../table/item.ts';
import { readItem } from '../table/reads.ts';

/** DynamoDB's numbers have up to 38 digits, sequence numbers of a stream up to 40: these are texts of one length. */
const NUMBER_DIGITS = 38;
const SEQUENCE_DIGITS = 40;

export function sequenceValue(sequence: string): unknown {
  return sequence.length > NUMBER_DIGITS ? sequence.padStart(SEQUENCE_DIGITS, '0') : NumberValueImpl.from(sequence);
}

/** As `sequenceValue` stored it; content that no image of the stream brought is older than any. */
export function storedSequence({ image_sequence }: Readonly<Record<string, AttributeValue>> = {}): string {
  return image_sequence?.N ?? image_sequence?.S?.replace(/^0+/, '') ?? '0';
}

/** No content of a later image or life is replaced, nor an erased one. A text counts as more than any number stored. */
export function notLater(sequence: string, life?: number): readonly Guard[] {
  const value = sequenceValue(sequence);
  const kept: Guard = [
    ['erased_at', '=', undefined],
    life === undefined ? ['life', '=', undefined] : ['life', 'absent or <=', life],
  ];
  const guard: Guard = [['image_sequence', 'absent or <=', value], ...kept];
  if (typeof value !== 'string') return [guard];
  return [guard, [['image_sequence', '<=', NumberValueImpl.from('9'.repeat(NUMBER_DIGITS))], ...kept]];
}

/** Neither an image nor a correction has replaced it, and nobody has erased it, or its fallback recipient. */
export function asStored(stored: Item): Guard {
  const image_sequence = stored['image_sequence'] && sequenceValue(storedSequence(stored));
  const marks = asRead(toForeignRow(stored), ['life', 'corrected_at', 'erased_at', 'encrypted_fallback_recipient']);
  return [...asRead({ log_id: stored['log_id']?.S }, ['log_id']), ...marks, ['image_sequence', '=', image_sequence]];
}

/** What the writer of a row noted of its own attempt, without the rest of the content; nothing in a row of another tenant. */
export async function readNotes(
  client: DynamoDBClient,
  table: string,
  { tenant_id, log_id, created_by }: RecipientOwner & { readonly created_by?: string },
): Promise<WriterNotes> {
  if (created_by === INTAKE_API) return {};
  const item = await readItem(client, table, log_id, ['tenant_id', ...NOTES]);
  if (item?.['tenant_id']?.S !== tenant_id) return {};
  return Object.fromEntries(NOTES.flatMap((name) => (item[name]?.S ? [[name, item[name].S]] : [])));
}

type RecipientOwner = Pick<NotificationRow, 'tenant_id' | 'log_id'>;

/** The encrypted recipient: in the content of another row or tenant it is useless. */
export function sealRecipient(
  sealer: Sealer,
  { tenant_id, log_id }: RecipientOwner,
  recipient: string,
): Promise<string> {
  return sealer.seal({ tenant_id, purpose: SEALED.recipients, id: log_id }, recipient);
}

/** The item for a notification's content, its recipient encrypted. @param fallback from fallbackAttributes */
export async function contentItem(
  sealer: Sealer,
  { log_id, tenant_id, expires_at }: Omit<ContentOwner, 'sequence'>,
  content: NotificationContent,
  fallback: Item = {},
): Promise<Item> {
  const item = toItem({
    log_id,
    tenant_id,
    encrypted_recipient: await sealRecipient(sealer, { log_id, tenant_id }, content.recipient),
    subject: content.subject,
    message_format: content.format,
    response_message: content.response_message,
    error_details: content.error_details,
    expires_at,
  });
  return { ...item, ...fallback, ...bodyAttribute(content.body) };
}

/** Most bytes of a body that is stored as text, which people can read. It still fits into one read unit. */
const PLAIN_BYTES = 2_048;

/**
 * The attribute that holds a body: `message_body` as text, or `message_body_deflated` (RFC 1951). DynamoDB charges by
 * the kilobyte, and deflated text has a third of its size or less. zlib is loaded with the first long body.
 */
export function bodyAttribute(body: string): Item {
  const bytes = Buffer.from(body);
  if (bytes.length <= PLAIN_BYTES) return { message_body: { S: body } };
  return { message_body_deflated: { B: process.getBuiltinModule('node:zlib').deflateRawSync(bytes) } };
}
