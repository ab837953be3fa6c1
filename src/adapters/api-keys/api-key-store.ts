import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type Item, toItem } from '../dynamodb/table/item.ts';
import { updateExpression } from '../dynamodb/table/single-item.ts';
import type { ApiKey } from './api-key.ts';

/** Milliseconds that a revoked or expired key stays listed. Then DynamoDB deletes it. */
const KEPT_MS = 90 * 86_400_000;

/** The end of a key: at once, or of one that is replaced at a time, with what it was before. */
type KeyEnd = Pick<ApiKey, 'rotated_at' | 'lifetime_ms'> &
  ({ readonly revoked_at: string } | { readonly expires_at: string });

/** The table ApiKeys. */
export interface ApiKeyStore {
  get(key_id: string): Promise<ApiKey | undefined>;
  create(key: ApiKey): Promise<void>;
  /** All keys, or the keys of one tenant, in order of creation. */
  list(tenant_id?: string): Promise<ApiKey[]>;
  /** Sets when the key ends. False when the key does not exist, was revoked before, or expires before that time. */
  end(key_id: string, end: KeyEnd): Promise<boolean>;
}

export function createApiKeyStore(client: DynamoDBClient, table: string): ApiKeyStore {
  return {
    async get(key_id) {
      // Consistent, so that a key that was just created is found: the authorizer's answer is cached for a minute.
      const input = { TableName: table, Key: { key_id: { S: key_id } }, ConsistentRead: true };
      const { Item } = await client.send(new GetItemCommand(input));
      return Item && toApiKey(Item);
    },

    async create(key) {
      await client.send(
        new PutItemCommand({
          TableName: table,
          Item: toItem({ ...key, ...(key.expires_at && { delete_at: deleteAt(key.expires_at) }) }),
          ConditionExpression: 'attribute_not_exists(key_id)',
        }),
      );
    },

    async list(tenant_id) {
      const keys: ApiKey[] = [];
      let ExclusiveStartKey: Item | undefined;
      do {
        const page = await client.send(
          new ScanCommand({ TableName: table, ...(ExclusiveStartKey && { ExclusiveStartKey }) }),
        );
        keys.push(...(page.Items ?? []).map(toApiKey));
        ExclusiveStartKey = page.LastEvaluatedKey;
      } while (ExclusiveStartKey !== undefined);
      return keys
        .filter((key) => tenant_id === undefined || key.tenant_id === tenant_id)
        .sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
    },

    async end(key_id, end) {
      const at = 'revoked_at' in end ? end.revoked_at : end.expires_at;
      const update = updateExpression({ set: { ...end, delete_at: deleteAt(at) }, remove: [] });
      try {
        await client.send(
          new UpdateItemCommand({
            TableName: table,
            Key: { key_id: { S: key_id } },
            UpdateExpression: update.expression,
            ConditionExpression: `attribute_exists(key_id) AND attribute_not_exists(revoked_at)${'expires_at' in end ? NOT_LATER : ''}`,
            ExpressionAttributeNames: update.names,
            ExpressionAttributeValues: { ...update.values, ...('expires_at' in end && { ':at': { S: at } }) },
          }),
        );
        return true;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return false;
        throw error;
      }
    },
  };
}

/** An expiry only ever comes nearer: a later one would revive a key that has expired. */
const NOT_LATER = ' AND (attribute_not_exists(expires_at) OR expires_at >= :at)';

function deleteAt(end: string): number {
  return Math.ceil((Date.parse(end) + KEPT_MS) / 1000);
}

function toApiKey(item: Item): ApiKey {
  const { delete_at: _, ...key } = unmarshall(item);
  return key as ApiKey;
}
