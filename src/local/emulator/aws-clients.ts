import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import { LOCAL_REGION } from './template/references.ts';

/** The stand-ins check no signature, but the SDK insists on signing. */
const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };

export interface AwsClients {
  readonly dynamodb: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  readonly sqs: SQSClient;
  /** The SQS stand-in is one of SNS as well. */
  readonly sns: SNSClient;
  destroy(): void;
}

export function awsClients(dynamodbEndpoint: string, sqsEndpoint: string): AwsClients {
  const dynamodb = new DynamoDBClient({ endpoint: dynamodbEndpoint, region: LOCAL_REGION, credentials });
  const streams = new DynamoDBStreamsClient({ endpoint: dynamodbEndpoint, region: LOCAL_REGION, credentials });
  const sqs = new SQSClient({
    endpoint: sqsEndpoint,
    region: LOCAL_REGION,
    credentials,
    useQueueUrlAsEndpoint: false,
    // A long poll a lane: the default pool of sockets would be enough, its warnings would not be.
    requestHandler: { httpsAgent: { maxSockets: 200 }, httpAgent: { maxSockets: 200 } },
  });
  const sns = new SNSClient({ endpoint: sqsEndpoint, region: LOCAL_REGION, credentials });
  return {
    dynamodb,
    streams,
    sqs,
    sns,
    destroy() {
      for (const client of [dynamodb, streams, sqs, sns]) client.destroy();
    },
  };
}
