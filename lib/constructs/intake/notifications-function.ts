import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ApiNotificationsEnv } from '../../../functions/shared/runtime/env.ts';
import { HISTORY_INDEX, NOTIFICATION_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import { allow, countRequests, readShards, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { laneArns, laneUrls } from '../lanes/lane-queues.ts';
import { API_TIMEOUT, type IntakeApiProps } from './intake-api-props.ts';

/** The function behind the routes that show notifications and retry them. */
export function notificationsFunction(
  scope: Construct,
  { config, tables, encryption, channels }: IntakeApiProps,
): ServiceFunction {
  return new ServiceFunction(scope, 'Notifications', {
    config,
    name: 'api-notifications',
    description: 'Tells where notifications stand, and has them retried',
    timeout: API_TIMEOUT,
    environment: {
      NOTIFICATION_LOG_TABLE: tables.log.tableName,
      NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      LANE_QUEUES: Stack.of(scope).toJsonString(laneUrls(channels)),
      RETRY_POLICY: retryPolicyJson(config),
    } satisfies ApiNotificationsEnv,
    permissions: [
      allow(['dynamodb:BatchGetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'], [tables.log.tableArn]),
      allow(['dynamodb:Query'], [tables.retryLog.tableArn]),
      allow(
        ['dynamodb:Query'],
        [HISTORY_INDEX, NOTIFICATION_INDEX].map((index) => `${tables.log.tableArn}/index/${index}`),
      ),
      countRequests(tables.pipelineState),
      readShards(tables.pipelineState),
      useTableKey(encryption.dataKey),
      allow(['sqs:SendMessage'], laneArns(channels)),
    ],
  });
}
