import { type DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { NoticeMark } from '../../../core/monitor/report-deaths.ts';

const KEY = { kind: { S: 'notice' }, id: { S: 'deaths' } };

/** NoticeMark on PipelineState: one item that never expires. */
export function createNoticeMark(client: DynamoDBClient, table: string): NoticeMark {
  return {
    async read() {
      const { Item } = await client.send(new GetItemCommand({ TableName: table, Key: KEY, ConsistentRead: true }));
      return Item?.['until']?.S;
    },
    async write(until) {
      await client.send(new PutItemCommand({ TableName: table, Item: { ...KEY, until: { S: until } } }));
    },
  };
}
