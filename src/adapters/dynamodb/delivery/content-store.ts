import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { NumberValueImpl } from '@aws-sdk/util-dynamodb';
import { CONTENT_CALL_MS } from '../../../core/delivery/policy/attempt-times.ts';
import { type ContentStore, ContentUnreadableError } from '../../../core/delivery/ports.ts';
import type { ContentOwner } from '../../../core/indexing/index-row.ts';
import {
  INTAKE_API,
  type MessageFormat,
  NOTES,
  type NotificationContent,
  SEALED,
  type WriterNotes,
} from '../../../core/model/notification.ts';
import { asRead, type Guard } from '../../../core/model/row-change.ts';
import { withinLimit } from '../../batching/gather.ts';
import { type Sealer, SealRefusedError } from '../../sealing/sealer.ts';
import { type Item, toForeignRow, toItem } from '../table/item.ts';
import { itemReader, readItem } from '../table/reads.ts';
import { updateItem } from '../table/writes.ts';

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

/**
 * Neither content of a later image or life is stored, nor an erased one. A text stands for a larger number than any that
 * is stored as one.
 */
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

/** Row and content are stored with the same end. */
const DAY_SECONDS = 86_400;

/** ContentStore on NotificationContent. The stored recipient is encrypted and bound to its tenant and log_id. */
export function createContentStore(client: DynamoDBClient, table: string, sealer: Sealer): ContentStore {
  const get = itemReader(client, table, { consistent: false });
  async function read(owner: Parameters<ContentStore['read']>[0]): Promise<NotificationContent> {
    const found = await get(owner.log_id);
    // The cheaper, eventually consistent read may not see content that was written a moment ago, but that of a life before.
    const isOfThisLife = found !== undefined && Number(found['life']?.N ?? 0) === (owner.life ?? 0);
    const item = isOfThisLife ? found : await readItem(client, table, owner.log_id);
    const recipient = item?.['encrypted_recipient']?.S;
    const body = bodyOf(item);
    if (recipient === undefined || body === undefined) {
      throw new ContentUnreadableError('NotificationContent has no recipient or body for this notification.');
    }
    const { log_id, expires_at = 0 } = owner;
    // A redrive near the end has extended the row. The send needs no success of it: the next attempt tries again.
    if (expires_at - Number(item?.['expires_at']?.N ?? expires_at) > DAY_SECONDS)
      await updateItem(client, table, { log_id: { S: log_id } }, { set: { expires_at } }, [
        [['expires_at', '<', expires_at]],
      ]).catch(() => {});
    return {
      recipient: await open(sealer, owner, recipient),
      body,
      format: (item?.['message_format']?.S ?? 'PLAIN') as MessageFormat,
      ...(item?.['subject']?.S && { subject: item['subject'].S }),
    };
  }

  return { read: (owner) => withinLimit(read(owner), CONTENT_CALL_MS, 'NotificationContent or the key service') };
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

async function open(sealer: Sealer, { tenant_id, log_id }: RecipientOwner, sealed: string): Promise<string> {
  try {
    return await sealer.open({ tenant_id, purpose: SEALED.recipients, id: log_id }, sealed);
  } catch (cause) {
    if (cause instanceof SealRefusedError) throw new ContentUnreadableError(cause.message, { cause });
    throw cause;
  }
}

interface RecipientOwner {
  readonly tenant_id: string;
  readonly log_id: string;
}

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

/** No stored body is larger: an item of DynamoDB has at most 400 KB, and each body came from an item. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * The attribute that holds a body: `message_body` as text, or `message_body_deflated` (RFC 1951). DynamoDB charges by
 * the kilobyte, and deflated text has a third of its size or less. zlib is loaded with the first long body.
 */
export function bodyAttribute(body: string): Item {
  const bytes = Buffer.from(body);
  if (bytes.length <= PLAIN_BYTES) return { message_body: { S: body } };
  return { message_body_deflated: { B: process.getBuiltinModule('node:zlib').deflateRawSync(bytes) } };
}

function bodyOf(item: Item | undefined): string | undefined {
  const deflated = item?.['message_body_deflated']?.B;
  if (deflated === undefined) return item?.['message_body']?.S;
  return process.getBuiltinModule('node:zlib').inflateRawSync(deflated, { maxOutputLength: MAX_BODY_BYTES }).toString();
}
