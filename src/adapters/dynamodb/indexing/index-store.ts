import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type IndexStore, RowUnstorableError } from '../../../core/indexing/index-row.ts';
import type { ForeignRow } from '../../../core/model/foreign-row.ts';
import type { RecipientCipher } from '../../recipient/recipient-cipher.ts';
import { recipientHash } from '../../recipient/recipient-hash.ts';
import { putContent } from '../delivery/content-store.ts';
import { fallbackAttributes } from '../delivery/fallback-attributes.ts';
import { toValue } from '../table/item.ts';
import { updateExpression } from '../table/update-expression.ts';

/** What the writer may have changed since the image: taking the row in must not overwrite it. */
const GUARDED = [
  'send_status',
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
] as const;

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
      const update = updateExpression({ set, remove });
      const guard = unchanged(image);
      try {
        await client.send(
          new UpdateItemCommand({
            TableName: tables.notification_log,
            Key: { log_id: toValue(image['log_id']) },
            UpdateExpression: update.expression,
            ConditionExpression: `attribute_not_exists(work_queue) AND ${NOT_GIVEN_UP} AND ${guard.condition}`,
            ExpressionAttributeNames: { ...update.names, ...guard.names },
            ExpressionAttributeValues: { ...update.values, ...guard.values, ':null': { S: 'NULL' } },
          }),
        );
        return true;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return false;
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

/** A writer that knows the column may have left it NULL. */
const NOT_GIVEN_UP = '(attribute_not_exists(failure_reason) OR attribute_type(failure_reason, :null))';

/** DynamoDB's own word for what it will refuse however often it is asked: above all an item of more than 400 KB. */
function unstorable(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'ValidationException') return error;
  return new RowUnstorableError('the limit of 400 KB an item', { cause: error });
}

function unchanged(image: ForeignRow) {
  const names: Record<string, string> = {};
  const values: Record<string, ReturnType<typeof toValue>> = {};
  const conditions = GUARDED.map((column, i) => {
    names[`#g${i}`] = column;
    if (image[column] === undefined) return `attribute_not_exists(#g${i})`;
    values[`:g${i}`] = toValue(image[column]);
    return `#g${i} = :g${i}`;
  });
  return { condition: conditions.join(' AND '), names, values };
}
