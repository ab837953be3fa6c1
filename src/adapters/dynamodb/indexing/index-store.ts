import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type IndexStore, RowUnstorableError } from '../../../core/indexing/index-row.ts';
import { recipientHash } from '../../recipient/recipient-hash.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import { contentItem, putContent } from '../delivery/content-store.ts';
import { fallbackAttributes } from '../delivery/fallback-attributes.ts';
import { ifConditionHolds } from '../table/conditional-write.ts';
import { IMAGE_COLUMNS } from '../table/guarded-columns.ts';
import { columnsOf, updateGuarded } from '../table/guarded-update.ts';
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
      const update = { log_id: String(image['log_id']), set, remove, asRead: columnsOf(image, IMAGE_COLUMNS) };
      try {
        return await updateGuarded(client, tables.notification_log, update);
      } catch (error) {
        throw unstorable(error);
      }
    },

    async putContent(owner, content) {
      const fallback = content.fallback && (await fallbackAttributes(owner, content.fallback, sealer, hashKey));
      const item = await contentItem(sealer, owner, content, fallback);
      const put = putContent(client, tables.notification_content, item, owner.sequence);
      try {
        // If the content of a later image is stored already, the update of this image's row finds the row changed.
        await ifConditionHolds(put, undefined);
      } catch (error) {
        throw unstorable(error);
      }
      return recipientHash(await hashKey(), owner.tenant_id, content.recipient);
    },

    async hasContent(log_id) {
      return (await readItem(client, tables.notification_content, log_id, ['log_id'])) !== undefined;
    },
  };
}

/** With ValidationException DynamoDB refuses what no retry can store, mostly an item of more than 400 KB. */
function unstorable(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'ValidationException') return error;
  return new RowUnstorableError('the limit of 400 KB an item', { cause: error });
}
