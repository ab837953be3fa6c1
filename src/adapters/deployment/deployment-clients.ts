import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { loadedOnUse } from '../batching/gather.ts';
import { createDataKeyStore, type KeyWrap } from '../sealing/data-keys.ts';
import { createDataKeys, createSealer, type Sealer } from '../sealing/sealer.ts';
import type { Deployment } from './deployment.ts';

export interface DeploymentClients {
  readonly dynamodb: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly destroy: () => void;
}

/** @param limits how long a request may take; by default as long as the SDK allows */
export function createDeploymentClients(
  { clients }: Deployment,
  limits: Pick<DynamoDBClientConfig, 'requestHandler'> = {},
): DeploymentClients {
  const dynamodb = new DynamoDBClient({ ...clients.dynamodb, ...limits, retryMode: 'standard', maxAttempts: 5 });
  // By default the client calls the host of a queue's URL, which neither a stand-in nor a VPC endpoint need have.
  const sqs = new SQSClient({ ...clients.sqs, ...limits, useQueueUrlAsEndpoint: false });
  return {
    dynamodb,
    sqs,
    destroy() {
      dynamodb.destroy();
      sqs.destroy();
    },
  };
}

export function openSealer(wrap: KeyWrap, dataKeysTable: string): (dynamodb: DynamoDBClient) => Sealer {
  return (dynamodb) => createSealer(createDataKeys({ store: createDataKeyStore(dynamodb, dataKeysTable), wrap }));
}

/** KMS with the rights of the person who runs the command. */
export function operatorsKms(keyArn: string): KeyWrap {
  return loadedOnUse<KeyWrap>(
    async () => {
      const [{ KMSClient }, { createKmsKeyWrap }] = await Promise.all([
        import('@aws-sdk/client-kms'),
        import('../kms/kms-key-wrap.ts'),
      ]);
      return createKmsKeyWrap(new KMSClient({ maxAttempts: 3 }), keyArn);
    },
    'make',
    'unwrap',
  );
}
