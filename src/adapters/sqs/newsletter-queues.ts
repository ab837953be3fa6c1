import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { NewsletterQueues } from '../../core/newsletter/model/ports.ts';

export interface NewsletterQueueUrls {
  readonly prepare: string;
  readonly send: string;
}

/** The queues that start the preparation of emails and the sending of their batches. */
export function createNewsletterQueues(client: SQSClient, urls: NewsletterQueueUrls): NewsletterQueues {
  const send = async (QueueUrl: string, message: object, DelaySeconds = 0) => {
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(message), DelaySeconds }));
  };
  return {
    prepare: (message, delay_seconds) => send(urls.prepare, message, delay_seconds),
    send: (message, delay_seconds) => send(urls.send, message, delay_seconds),
  };
}
