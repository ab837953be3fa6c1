import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Deployment } from '../adapters/deployment/deployment.ts';
import { createAuditLog } from '../adapters/dynamodb/console/audit-log.ts';
import { createOperationStore, createVerificationStore } from '../adapters/dynamodb/console/operation-store.ts';
import { createRecordStore } from '../adapters/dynamodb/delivery/delivery-stores.ts';
import { createOperatorRows } from '../adapters/dynamodb/delivery/guarded-rows.ts';
import { createShardMark } from '../adapters/dynamodb/indexing/shard-mark.ts';
import { createWorkEntries } from '../adapters/dynamodb/operator/index-queries.ts';
import { createSweepLanes } from '../adapters/sqs/lanes.ts';
import type { RecordStore } from '../core/delivery/ports.ts';
import type { Clock } from '../core/model/time.ts';
import type { AuditRecord } from '../core/operator/audit.ts';

export interface OperatorBinding {
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
  /** Takes each record of the audit, for the log. */
  readonly onRecord: (record: AuditRecord) => void;
  /** Takes what SQS refuses: the notifications are due, and the next sweep sends them. */
  readonly onRefused?: (reason: string, count: number) => void;
}

/** What all use cases share: a deployment, and the stores on it. */
export function operatorDeps(binding: OperatorBinding) {
  const { deployment, dynamodb, sqs, clock, onRefused } = binding;
  const shards = createShardMark(dynamodb, deployment.tables.pipeline_state).read;
  return {
    ...binding,
    rows: createOperatorRows(dynamodb, deployment.tables.notification_log, clock),
    entries: createWorkEntries(dynamodb, deployment.tables.notification_log, async () => (await shards()).work),
    /** The partitions of the indexes: as many as the stage ever had. */
    shards,
    records: createRecordStore(dynamodb, deployment.tables.notification_retry_log) as RecordStore,
    audit: createAuditLog(dynamodb, deployment.tables.audit, clock),
    operations: createOperationStore(dynamodb, deployment.tables.pipeline_state),
    verification: createVerificationStore(dynamodb, deployment.tables.pipeline_state),
    lanes: createSweepLanes(sqs, deployment.lane_queues, { ...(onRefused && { onRefused }) }),
  };
}

export type OperatorDeps = ReturnType<typeof operatorDeps>;
