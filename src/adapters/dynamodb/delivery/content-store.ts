import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { type ContentStore, ContentUnreadableError } from '../../../core/delivery/send.ts';
import type { ContentOwner } from '../../../core/indexing/index-row.ts';
import type { MessageFormat, NotificationContent } from '../../../core/model/notification.ts';
import { gather } from '../../batching/gather.ts';
import { type RecipientCipher, RecipientMismatchError } from '../../recipient/recipient-cipher.ts';
import { getItems, MAX_GETS } from '../table/batch.ts';
import { type Item, toItem } from '../table/item.ts';
import { readItem } from '../table/read-item.ts';
import { bodyAttribute, bodyOf } from './body-attribute.ts';

/** ContentStore on NotificationContent. The stored recipient is encrypted and bound to its tenant and log_id. */
export function createContentStore(client: DynamoDBClient, table: string, cipher: RecipientCipher): ContentStore {
  const get = gather<string, Item | undefined>(
    async (log_ids) => {
      const keys = [...new Set(log_ids)].map((log_id) => ({ log_id: { S: log_id } }));
      const items = await getItems(client, table, keys, { consistent: false });
      const byId = new Map(items.map((item) => [item['log_id']?.S, item]));
      return log_ids.map((log_id) => byId.get(log_id));
    },
    { max: MAX_GETS },
  );
  return {
    async read(owner) {
      // The cheaper, eventually consistent read may not see content that was written a moment ago.
      const item = (await get(owner.log_id)) ?? (await readItem(client, table, owner.log_id));
      const recipient = item?.['encrypted_recipient']?.B;
      const body = bodyOf(item);
      if (recipient === undefined || body === undefined) {
        throw new ContentUnreadableError('NotificationContent has no recipient or body for this notification.');
      }
      return {
        recipient: await decrypt(cipher, owner, recipient),
        body,
        format: (item?.['message_format']?.S ?? 'PLAIN') as MessageFormat,
        ...(item?.['subject']?.S && { subject: item['subject'].S }),
      };
    },
  };
}

async function decrypt(
  cipher: RecipientCipher,
  owner: { tenant_id: string; log_id: string },
  ciphertext: Uint8Array,
): Promise<string> {
  try {
    return await cipher.decrypt(owner, ciphertext);
  } catch (error) {
    if (error instanceof RecipientMismatchError) {
      throw new ContentUnreadableError('The encrypted recipient belongs to another notification or tenant.', {
        cause: error,
      });
    }
    throw error;
  }
}

/**
 * Stores the item of a notification's content (contentItem).
 * @param sequence of the stream image that the content comes from
 * @throws ConditionalCheckFailedException when the content of a later image is stored already
 */
export async function putContent(client: DynamoDBClient, table: string, item: Item, sequence: string): Promise<void> {
  const image_sequence = { N: sequence };
  await client.send(
    new PutItemCommand({
      TableName: table,
      Item: { ...item, image_sequence },
      ConditionExpression: 'attribute_not_exists(image_sequence) OR image_sequence <= :sequence',
      ExpressionAttributeValues: { ':sequence': image_sequence },
    }),
  );
}

/**
 * The item for the content of a notification, with the recipient encrypted.
 * @param fallback from fallbackAttributes, if the content has a fallback
 */
export async function contentItem(
  cipher: RecipientCipher,
  { log_id, tenant_id, expires_at }: Omit<ContentOwner, 'sequence'>,
  content: NotificationContent,
  fallback: Item = {},
): Promise<Item> {
  const item = toItem({
    log_id,
    tenant_id,
    encrypted_recipient: await cipher.encrypt({ log_id, tenant_id }, content.recipient),
    subject: content.subject,
    message_format: content.format,
    response_message: content.response_message,
    error_details: content.error_details,
    expires_at,
  });
  return { ...item, ...fallback, ...bodyAttribute(content.body) };
}
