import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type ContentOwner, type IndexStore, RowUnstorableError } from '../../../core/indexing/index-row.ts';
import type { NotificationContent } from '../../../core/model/notification.ts';
import { recipientHash } from '../../recipient/recipient-hash.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import { bodyAttribute, contentItem, sealRecipient } from '../delivery/content-store.ts';
import { fallbackAttributes } from '../delivery/successor-store.ts';
import { putGuarded, updateGuarded } from '../table/guarded-update.ts';
import { asRead, IMAGE_COLUMNS, notLater, sequenceValue } from '../table/guards.ts';
import { type Item, toItem, toValue } from '../table/item.ts';
import { readItem } from '../table/read-item.ts';

export interface IndexStoreOptions {
  readonly client: DynamoDBClient;
  readonly tables: { readonly notification_log: string; readonly notification_content: string };
  readonly sealer: Sealer;
  /** The key of recipientHash; read when first needed. */
  readonly hashKey: () => Promise<string>;
}

/** IndexStore on NotificationLog and NotificationContent. */
export function createIndexStore({ client, tables, sealer, hashKey }: IndexStoreOptions): IndexStore {
  return {
    async index(image, set, remove) {
      const update = { log_id: String(image['log_id']), set, remove, guard: asRead(image, IMAGE_COLUMNS) };
      try {
        return (await updateGuarded(client, tables.notification_log, update)).applied;
      } catch (error) {
        throw unstorable(error);
      }
    },

    async putContent(owner, content) {
      const fallback = content.fallback && (await fallbackAttributes(owner, content.fallback, sealer, hashKey));
      const item = owner.amends
        ? await amendedItem(sealer, owner, content, await readItem(client, tables.notification_content, owner.log_id))
        : await contentItem(sealer, owner, content as NotificationContent);
      const image_sequence = toValue(sequenceValue(owner.sequence));
      const stored = { ...item, ...fallback, image_sequence };
      try {
        // If the content of a later image is stored already, the update of this image's row finds the row changed.
        await putGuarded(client, tables.notification_content, stored, notLater(owner.sequence));
      } catch (error) {
        throw unstorable(error);
      }
      return content.recipient && recipientHash(await hashKey(), owner.tenant_id, content.recipient);
    },

    async hasContent(log_id) {
      return (await readItem(client, tables.notification_content, log_id, ['log_id'])) !== undefined;
    },
  };
}

/** The stored item with a part of its content replaced. */
async function amendedItem(
  sealer: Sealer,
  { log_id, tenant_id, expires_at }: ContentOwner,
  { recipient, subject, body, format }: Partial<NotificationContent>,
  stored: Item = {},
): Promise<Item> {
  if (stored['tenant_id']?.S !== tenant_id) throw new RowUnstorableError('the content that it lacks');
  const { message_body, message_body_deflated, ...rest } = stored;
  const kept = { ...(message_body && { message_body }), ...(message_body_deflated && { message_body_deflated }) };
  const encrypted_recipient = recipient && (await sealRecipient(sealer, { log_id, tenant_id }, recipient));
  return {
    ...rest,
    ...toItem({ encrypted_recipient, subject, message_format: format, expires_at }),
    ...(body === undefined ? kept : bodyAttribute(body)),
  };
}

/** With ValidationException DynamoDB refuses what no retry can store, mostly an item of more than 400 KB. */
function unstorable(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'ValidationException') return error;
  return new RowUnstorableError('the limit of 400 KB an item', { cause: error });
}
