import { Duration } from 'aws-cdk-lib';
import { StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { DueIndexerEnv } from '../../../functions/shared/runtime/env.ts';
import { indexShardsJson, retryPolicyJson } from '../../config/settings-json.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { acknowledgeWildcard } from '../function/nag-acknowledgements.ts';
import { allow, readSecrets, sealRecipients, useShards, useTableKey } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { failureQueue } from '../lanes/dead-letters.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';
import { FOREIGN_ROWS } from './indexer-stream-filter.ts';

export interface DueIndexerProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly encryption: Encryption;
}

/** Takes in the rows that others put into NotificationLog: it encrypts their recipient and adds our index keys. */
export class DueIndexer extends Construct {
  readonly indexer: ServiceFunction;
  /** Stream positions of the rows that the indexer could not take in within a day. */
  readonly failures: Queue;

  constructor(scope: Construct, id: string, { config, tables, encryption }: DueIndexerProps) {
    super(scope, id);
    const streamArn = streamOf(tables);
    this.failures = failureQueue(this, 'Failures');
    this.indexer = new ServiceFunction(this, 'Indexer', {
      config,
      name: 'due-indexer',
      description: 'Takes notifications that others wrote into the work index',
      timeout: SHORT_TIMEOUT,
      environment: takingIn({ config, tables, encryption }).environment,
      permissions: [
        allow(['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'], [streamArn]),
        allow(['dynamodb:ListStreams'], ['*']),
        allow(['dynamodb:UpdateItem'], [tables.log.tableArn]),
        allow(['dynamodb:GetItem', 'dynamodb:PutItem'], [tables.content.tableArn]),
        ...takingIn({ config, tables, encryption }).permissions,
      ],
    });
    acknowledgeWildcard(
      this.indexer.executionRole,
      '*',
      "Lambda's stream poller asks for dynamodb:ListStreams, which knows no resources.",
    );
    this.indexer.addEventSourceMapping('Stream', {
      eventSourceArn: streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: FOREIGN_ROWS,
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(1),
      // Order matters only within a row, and DynamoDB keeps that order.
      parallelizationFactor: 4,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      // DynamoDB drops a change after 24 hours. An hour before that, Lambda stops retrying and puts the change into the
      // failure queue.
      maxRecordAge: Duration.hours(23),
      onFailure: new SqsDlq(this.failures),
    });
  }
}

/** What every function needs that takes rows in, beside its rights on the tables. */
export function takingIn({ config, tables, encryption }: DueIndexerProps) {
  const environment = {
    NOTIFICATION_LOG_TABLE: tables.log.tableName,
    NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
    DATA_KEYS_TABLE: tables.dataKeys.tableName,
    PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
    INDEX_SHARDS: indexShardsJson(config),
    RETRY_POLICY: retryPolicyJson(config),
    TIME_ZONE: config.timeZone,
    CHANNELS: config.channels.join(','),
    RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
    RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
  } satisfies DueIndexerEnv;
  const permissions = [
    useShards(tables.pipelineState),
    useTableKey(encryption.dataKey),
    ...sealRecipients(encryption, tables),
    readSecrets(encryption),
    allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
  ];
  return { environment, permissions };
}

function streamOf({ log }: NotificationTables): string {
  if (log.tableStreamArn === undefined) throw new Error('NotificationLog has no stream: its schema must have one');
  return log.tableStreamArn;
}
