import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import type { Notice } from '../../core/monitor/death-notice.ts';

/** Publishes notices to a topic; rejects when SNS refuses one. */
export function createPublisher(client: SNSClient, TopicArn: string): (notice: Notice) => Promise<void> {
  return async ({ subject, text }) => {
    await client.send(new PublishCommand({ TopicArn, Subject: subject, Message: text }));
  };
}
