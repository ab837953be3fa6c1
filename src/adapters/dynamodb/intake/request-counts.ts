import { type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { RequestCounts } from '../../../core/intake/rate-limit.ts';
import type { TestMailDeps } from '../../../core/newsletter/sending/test-mail.ts';
import { RATE_PREFIX } from '../schema.ts';

/** Seconds until the count of a second expires: longer than any instance adds to it. */
const KEPT_SECONDS = 300;

/** Milliseconds that a request waits for the count of its key at most; its own work matters more. */
const LONGEST_MS = 500;

/** An item per key and second, a partition per key (docs/decisions/intake/keys-rights-and-limits.md#0140). */
export function createRequestCounts(client: DynamoDBClient, table: string): RequestCounts {
  return {
    add: (key_id, second, requests) =>
      addTo(
        client,
        table,
        { kind: key_id, id: second, count: requests, expires_at: second + KEPT_SECONDS },
        AbortSignal.timeout(LONGEST_MS),
      ),
  };
}

/** The test mails of each tenant and hour, counted by all that send some; without a count none is sent, so it may take its time. */
export function createTestCounts(client: DynamoDBClient, table: string): TestMailDeps['countTests'] {
  return (tenant_id, hour, count) =>
    addTo(client, table, { kind: `test-mails#${tenant_id}`, id: hour, count, expires_at: 3600 * (hour + 2) });
}

interface Counted {
  readonly kind: string;
  readonly id: number;
  readonly count: number;
  readonly expires_at: number;
}

async function addTo(
  client: DynamoDBClient,
  table: string,
  { kind, id, count, expires_at }: Counted,
  abortSignal?: AbortSignal,
): Promise<number> {
  const { Attributes } = await client.send(
    new UpdateItemCommand({
      TableName: table,
      Key: { kind: { S: `${RATE_PREFIX}${kind}` }, id: { S: String(id) } },
      UpdateExpression: 'SET expires_at = :end ADD requests :requests',
      ExpressionAttributeValues: { ':end': { N: String(expires_at) }, ':requests': { N: String(count) } },
      ReturnValues: 'UPDATED_NEW',
    }),
    { ...(abortSignal && { abortSignal }) },
  );
  return Number(Attributes?.['requests']?.N ?? count);
}
