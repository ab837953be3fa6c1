import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Deployment } from '../adapters/deployment/deployment.ts';
import { createOperatorRows } from '../adapters/dynamodb/operator/operator-rows.ts';
import { createDueIndex } from '../adapters/dynamodb/sweep/due-index.ts';
import { createSweepLanes } from '../adapters/sqs/lanes.ts';
import type { Clock } from '../core/model/time.ts';

export interface ConsoleBinding {
  readonly deployment: Deployment;
  readonly dynamodb: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Name of the stack, or `local`. */
  readonly stage: string;
  readonly region: string;
  /** Whether shell commands get `--local`. */
  readonly local: boolean;
}

/** What all routes share: a deployment, and the use cases' stores on it. */
export function consoleDeps(binding: ConsoleBinding) {
  const { deployment, dynamodb, sqs, clock } = binding;
  return {
    ...binding,
    rows: createOperatorRows(dynamodb, deployment.tables.notification_log, clock),
    index: createDueIndex(dynamodb, deployment.tables.notification_log),
    lanes: createSweepLanes(sqs, deployment.lane_queues),
  };
}

export type ConsoleDeps = ReturnType<typeof consoleDeps>;
