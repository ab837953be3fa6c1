import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ApiIntakeEnv } from '../../../functions/shared/runtime/env.ts';
import { indexShardsJson, retryPolicyJson } from '../../config/settings-json.ts';
import { allow, countRequests, readSecrets, sealRecipients, useShards, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { laneArns, laneUrls } from '../lanes/lane-queues.ts';
import { API_TIMEOUT, type IntakeApiProps } from './intake-api-props.ts';

/** The function behind the routes that accept notifications and reported failures. */
export function intakeFunction(
  scope: Construct,
  { config, tables, encryption, channels }: IntakeApiProps,
): ServiceFunction {
  return new ServiceFunction(scope, 'Intake', {
    config,
    name: 'api-intake',
    description: 'Takes notifications and reported failures in, each once for its idempotency key',
    timeout: API_TIMEOUT,
    environment: {
      NOTIFICATION_LOG_TABLE: tables.log.tableName,
      NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
      NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      DATA_KEYS_TABLE: tables.dataKeys.tableName,
      LANE_QUEUES: Stack.of(scope).toJsonString(laneUrls(channels)),
      INDEX_SHARDS: indexShardsJson(config),
      RETRY_POLICY: retryPolicyJson(config),
      RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
      RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    } satisfies ApiIntakeEnv,
    permissions: [
      allow(
        ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'],
        [tables.log.tableArn],
      ),
      allow(['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'], [tables.content.tableArn]),
      allow(
        ['dynamodb:GetItem', 'dynamodb:PartiQLInsert', 'dynamodb:PutItem', 'dynamodb:Query'],
        [tables.retryLog.tableArn],
      ),
      countRequests(tables.pipelineState),
      useShards(tables.pipelineState),
      useTableKey(encryption.dataKey),
      ...sealRecipients(encryption, tables),
      readSecrets(encryption),
      allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
      allow(['sqs:SendMessage'], laneArns(channels)),
    ],
  });
}
