import { CreateTopicCommand, type SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { appendPrivately } from '../../../processes/private-file.ts';
import { queueUrl } from '../../stand-ins/tables-and-queues.ts';
import type { Log } from '../../support/running.ts';
import type { AwsClients } from '../aws-clients.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../template/references.ts';
import { startSqsEventSource } from './sqs-event-source.ts';

export interface NoticesOptions {
  readonly clients: Pick<AwsClients, 'sns' | 'sqs'>;
  readonly sqsEndpoint: string;
  readonly topics: readonly string[];
  /** File to which every notice is appended. */
  readonly file: string;
  readonly onNotice: (subject: string) => void;
  readonly log: Log;
}

const QUEUE = 'local-notices';

/** Creates the stack's SNS topics and subscribes to them in place of the mailboxes that subscribe on AWS. */
export async function showNotices({ clients, sqsEndpoint, topics, file, onNotice, log }: NoticesOptions) {
  await clients.sqs.send(new CreateQueueCommand({ QueueName: QUEUE }));
  const queueArn = `arn:aws:sqs:${LOCAL_REGION}:${LOCAL_ACCOUNT}:${QUEUE}`;
  for (const topic of topics) await subscribe(clients.sns, topic, queueArn);
  return startSqsEventSource({
    client: clients.sqs,
    queueUrl: queueUrl(sqsEndpoint, QUEUE),
    mapping: {
      id: QUEUE,
      source: 'queue',
      queueName: QUEUE,
      functionName: QUEUE,
      sourceArn: queueArn,
      batchSize: 10,
      batchWindowSeconds: 0,
      reportsBatchItemFailures: false,
      filters: [],
    },
    concurrency: 1,
    log,
    async invoke(event) {
      for (const { Subject, Message, Timestamp } of published(event)) {
        appendPrivately(file, `${Timestamp} ${Subject}\n\n${Message}\n`);
        onNotice(Subject);
      }
      return { ok: true, result: 'null' };
    },
  });
}

async function subscribe(sns: SNSClient, name: string, queueArn: string): Promise<void> {
  const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: name }));
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: queueArn }));
}

interface Envelope {
  readonly Subject: string;
  readonly Message: string;
  readonly Timestamp: string;
}

/** SNS wraps each message to a queue in an envelope. */
function published(event: string): Envelope[] {
  const { Records } = JSON.parse(event) as { readonly Records: readonly { readonly body: string }[] };
  return Records.map(({ body }) => JSON.parse(body) as Envelope);
}
