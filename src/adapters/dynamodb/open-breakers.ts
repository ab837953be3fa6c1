import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { CHANNELS, type Channel } from '../../core/channels.ts';

/** States in which a breaker lets notifications through. */
const LETS_THROUGH = new Set(['closed', 'draining']);

/** How many breakers of each channel are open; their ids are `<channel>#<what they stand before>`. */
export async function countOpenBreakers(
  client: DynamoDBClient,
  table: string,
  now: Date,
): Promise<Record<Channel, number>> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: 'kind = :kind',
      ExpressionAttributeValues: { ':kind': { S: 'breaker' } },
    }),
  );
  // DynamoDB deletes what has expired days later.
  const open = Items.filter(
    ({ state, expires_at }) =>
      !LETS_THROUGH.has(state?.S ?? '') && (expires_at?.N === undefined || Number(expires_at.N) * 1000 > now.getTime()),
  );
  const counts = CHANNELS.map((channel) => [channel, open.filter(({ id }) => id?.S?.split('#')[0] === channel).length]);
  return Object.fromEntries(counts) as Record<Channel, number>;
}
