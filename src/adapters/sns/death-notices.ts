import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import type { Notice, NoticeMark } from '../../core/monitor/dead-notifications.ts';
import { getItem } from '../dynamodb/table/reads.ts';

const KEY = { kind: { S: 'notice' }, id: { S: 'deaths' } };

/** NoticeMark on PipelineState: one item that never expires. */
export function createNoticeMark(client: DynamoDBClient, table: string): NoticeMark {
  return {
    async read() {
      return (await getItem(client, table, KEY))?.['until']?.S;
    },
    async write(until) {
      await client.send(new PutItemCommand({ TableName: table, Item: { ...KEY, until: { S: until } } }));
    },
  };
}

/** Publishes notices to a topic; rejects when SNS refuses one. */
export function createPublisher(client: SNSClient, TopicArn: string): (notice: Notice) => Promise<void> {
  return async ({ subject, text }) => {
    await client.send(new PublishCommand({ TopicArn, Subject: subject, Message: text }));
  };
}
