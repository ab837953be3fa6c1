import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import { LOCAL_REGION } from './template/references.ts';

/** The SDK needs credentials to sign requests. The stand-ins do not check signatures. */
const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };

export interface AwsClients {
  readonly dynamodb: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  readonly sqs: SQSClient;
  /** The SQS stand-in serves SNS, too. */
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
    // Each lane has a long poll. The default pool of sockets would suffice, but the SDK would log warnings.
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
