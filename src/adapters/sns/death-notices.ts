import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import type { NoticeMark, Reported } from '../../core/monitor/dead-notifications.ts';
import type { Notice } from '../../core/monitor/death-notice.ts';
import { getItem } from '../dynamodb/table/reads.ts';

const KEY = { kind: { S: 'notice' }, id: { S: 'deaths' } };

/** NoticeMark on PipelineState: one item that never expires. */
export function createNoticeMark(client: DynamoDBClient, table: string): NoticeMark {
  return {
    async read() {
      const { until, behind } = (await getItem(client, table, KEY)) ?? {};
      if (until?.S === undefined) return undefined;
      return { until: until.S, ...(behind?.S && { behind: JSON.parse(behind.S) as Reported['behind'] }) };
    },
    async write({ until, behind }) {
      const rest = behind && { behind: { S: JSON.stringify(behind) } };
      await client.send(new PutItemCommand({ TableName: table, Item: { ...KEY, until: { S: until }, ...rest } }));
    },
  };
}

/** Publishes notices to a topic; rejects when SNS refuses one. */
export function createPublisher(client: SNSClient, TopicArn: string): (notice: Notice) => Promise<void> {
  return async ({ subject, text }) => {
    await client.send(new PublishCommand({ TopicArn, Subject: subject, Message: text }));
  };
}
