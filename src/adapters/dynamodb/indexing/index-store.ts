import { ConditionalCheckFailedException, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { type IndexStore, RowUnstorableError } from '../../../core/indexing/index-row.ts';
import type { RecipientCipher } from '../../recipient/recipient-cipher.ts';
import { recipientHash } from '../../recipient/recipient-hash.ts';
import { putContent } from '../delivery/content-store.ts';
import { fallbackAttributes } from '../delivery/fallback-attributes.ts';
import { IMAGE_COLUMNS } from '../table/guarded-columns.ts';
import { columnsOf, updateGuarded } from '../table/guarded-update.ts';

export interface IndexStoreOptions {
  readonly client: DynamoDBClient;
  readonly tables: { readonly notification_log: string; readonly notification_content: string };
  readonly cipher: RecipientCipher;
  /** Key of the recipients' searchable hash; read when first needed. */
  readonly hashKey: () => Promise<string>;
}

/** IndexStore on NotificationLog and NotificationContent. */
export function createIndexStore({ client, tables, cipher, hashKey }: IndexStoreOptions): IndexStore {
  return {
    async index(image, set, remove) {
      const update = { log_id: String(image['log_id']), set, remove, asRead: columnsOf(image, IMAGE_COLUMNS) };
      try {
        return await updateGuarded(client, tables.notification_log, update, NOT_TAKEN_IN);
      } catch (error) {
        throw unstorable(error);
      }
    },

    async putContent(owner, content) {
      const fallback = content.fallback && (await fallbackAttributes(owner, content.fallback, cipher, hashKey));
      await putContent(client, tables.notification_content, cipher, owner, content, fallback).catch(
        (error: unknown) => {
          // A later image's content is there already; this one's row update will find the row changed.
          if (!(error instanceof ConditionalCheckFailedException)) throw unstorable(error);
        },
      );
      return recipientHash(await hashKey(), owner.tenant_id, content.recipient);
    },

    async hasContent(log_id) {
      const { Item } = await client.send(
        new GetItemCommand({
          TableName: tables.notification_content,
          Key: { log_id: { S: log_id } },
          ProjectionExpression: 'log_id',
          ConsistentRead: true,
        }),
      );
      return Item !== undefined;
    },
  };
}

/** The row has no place in the work index and was not given up: a writer that knows failure_reason may leave it NULL. */
const NOT_TAKEN_IN = {
  text:
    'attribute_not_exists(work_queue) AND ' +
    '(attribute_not_exists(failure_reason) OR attribute_type(failure_reason, :null))',
  values: { ':null': { S: 'NULL' } },
};

/** DynamoDB's own word for what it will refuse however often it is asked: above all an item of more than 400 KB. */
function unstorable(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'ValidationException') return error;
  return new RowUnstorableError('the limit of 400 KB an item', { cause: error });
}
