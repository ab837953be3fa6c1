import { type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { RequestCounts } from '../../../core/intake/rate-limit.ts';
import { RATE_PREFIX } from '../schema.ts';

/** Seconds until the count of a second expires: longer than any instance adds to it. */
const KEPT_SECONDS = 300;

/** Milliseconds that a request waits for the count of its key at most; its own work matters more. */
const LONGEST_MS = 500;

/**
 * RequestCounts on PipelineState: one item per key and second, in a partition per key
 * (docs/decisions/intake/keys-rights-and-limits.md#0140).
 */
export function createRequestCounts(client: DynamoDBClient, table: string): RequestCounts {
  return {
    async add(key_id, second, requests) {
      const { Attributes } = await client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: { kind: { S: `${RATE_PREFIX}${key_id}` }, id: { S: String(second) } },
          UpdateExpression: 'SET expires_at = :end ADD requests :requests',
          ExpressionAttributeValues: {
            ':end': { N: String(second + KEPT_SECONDS) },
            ':requests': { N: String(requests) },
          },
          ReturnValues: 'UPDATED_NEW',
        }),
        { abortSignal: AbortSignal.timeout(LONGEST_MS) },
      );
      return Number(Attributes?.['requests']?.N ?? requests);
    },
  };
}
