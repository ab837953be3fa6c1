import { Duration } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Deployed, dueIndexerEnv, reconcilerEnv } from '../../../functions/shared/runtime/env.ts';
import { SHARDS_KIND } from '../../../src/adapters/dynamodb/schema.ts';
import { indexShardsJson, retryPolicyJson } from '../../config/settings-json.ts';
import { allow, on, readSecrets, sealRecipients, useKinds, useTableKey } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { continueItself, listStreams, readStreams, readStreamsOf, runOnSchedule } from '../function/triggers.ts';
import { failureQueue } from '../lanes/queues.ts';
import type { StageStorage } from '../storage/tables.ts';
import { FOREIGN_ROWS } from './stream-filters.ts';

/** Takes in the rows that others put into NotificationLog: it encrypts their recipient and adds our index keys. */
export class DueIndexer extends Construct {
  readonly indexer: ServiceFunction;
  /** Stream positions of the rows that the indexer could not take in within a day. */
  readonly failures: Queue;

  constructor(scope: Construct, id: string, stage: StageStorage) {
    super(scope, id);
    const { config, tables } = stage;
    const { environment, permissions } = takingIn(stage);
    this.failures = failureQueue(this, 'Failures');
    this.indexer = new ServiceFunction(this, 'Indexer', {
      config,
      name: 'due-indexer',
      description: 'Takes notifications that others wrote into the work index',
      timeout: SHORT_TIMEOUT,
      environment,
      permissions: [
        readStreamsOf(tables.log),
        on(tables.log, 'GetItem', 'UpdateItem'),
        on(tables.content, 'GetItem', 'PutItem'),
        ...permissions,
      ],
      wildcards: [listStreams()],
    });
    readStreams(this.indexer, { Stream: [tables.log, FOREIGN_ROWS] }, 4, this.failures);
  }
}

/** Takes in the rows that the due-indexer missed (docs/decisions/delivery/taking-rows-in.md#0080). */
export class Reconciler extends Construct {
  readonly function: ServiceFunction;

  constructor(scope: Construct, id: string, stage: StageStorage) {
    super(scope, id);
    const { config, tables } = stage;
    const { environment, permissions } = takingIn(stage);
    this.function = new ServiceFunction(this, 'Reconciler', {
      config,
      name: 'reconciler',
      description: 'Takes in the notifications that the due-indexer missed',
      timeout: Duration.minutes(15),
      allowRecursion: true,
      environment: {
        ...environment,
        READ_UNITS_PER_SECOND: String(config.reconcileReadUnits),
      } satisfies Deployed<typeof reconcilerEnv>,
      permissions: [
        on(tables.log, 'Scan', 'GetItem', 'UpdateItem'),
        allow(['dynamodb:GetItem', 'dynamodb:PutItem'], [tables.content.tableArn, tables.pipelineState.tableArn]),
        ...permissions,
      ],
    });
    continueItself(this, this.function);
    if (config.reconcileSchedule === 'off') return;
    runOnSchedule(this, 'Schedule', this.function, {
      config,
      what: 'look for rows that were never taken in',
      schedule: config.reconcileSchedule,
      retryAttempts: 2,
      within: Duration.hours(1),
    });
  }
}

/** What every function needs that takes rows in, beside its rights on the tables. */
function takingIn({ config, tables, encryption }: StageStorage) {
  const environment = {
    NOTIFICATION_LOG_TABLE: tables.log.tableName,
    NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
    NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
    DATA_KEYS_TABLE: tables.dataKeys.tableName,
    PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
    INDEX_SHARDS: indexShardsJson(config),
    RETRY_POLICY: retryPolicyJson(config),
    TIME_ZONE: config.timeZone,
    CHANNELS: config.channels.join(','),
    RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
    RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
  } satisfies Deployed<typeof dueIndexerEnv>;
  const permissions = [
    // The last recorded attempt, where a row is put behind older content; and what was said about its recipient of before.
    on(tables.retryLog, 'GetItem', 'PutItem', 'Query'),
    useKinds(tables.pipelineState, SHARDS_KIND),
    useTableKey(encryption.dataKey),
    ...sealRecipients(encryption, tables),
    ...readSecrets(encryption, encryption.recipientHashSecret),
  ];
  return { environment, permissions };
}
