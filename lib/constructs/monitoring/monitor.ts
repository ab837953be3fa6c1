import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { Deployed, monitorEnv } from '../../../functions/shared/runtime/env.ts';
import { WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import { allow, on, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { runOnSchedule } from '../function/triggers.ts';
import { deployedStack } from '../platform/deployed-stack.ts';
import type { StageStorage } from '../storage/tables.ts';
import type { Alerts } from './alerts.ts';

interface MonitorProps extends StageStorage {
  readonly alerts: Alerts;
}

/** Measures the pipeline from outside, on a schedule of its own: the age of the oldest due row, and the dead rows. */
export class Monitor extends Construct {
  readonly function: ServiceFunction;

  constructor(scope: Construct, id: string, { config, tables, encryption, alerts }: MonitorProps) {
    super(scope, id);
    this.function = new ServiceFunction(this, 'Monitor', {
      config,
      name: 'monitor',
      description: 'Measures what is due and dead, and tells operators what was given up',
      // Counts deaths for 100 seconds at most (src/core/monitor/dead-notifications.ts), and then reads rows.
      timeout: Duration.minutes(4),
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        ALERTS_TOPIC_ARN: alerts.topic.topicArn,
        STACK_NAME: deployedStack(this).stackName,
        CHANNELS: config.channels.join(','),
        NOTICES_LANGUAGE: config.notices.language,
      } satisfies Deployed<typeof monitorEnv>,
      permissions: [
        allow(['dynamodb:Query'], [`${tables.log.tableArn}/index/${WORK_INDEX}`, tables.pipelineState.tableArn]),
        on(tables.log, 'BatchGetItem'),
        on(tables.pipelineState, 'GetItem', 'PutItem', 'UpdateItem'),
        useTableKey(encryption.dataKey),
        ...alerts.publishing,
      ],
      wildcards: alerts.wildcards,
    });
    runOnSchedule(this, 'Schedule', this.function, {
      config,
      what: 'look at what is due and dead',
      schedule: config.monitorSchedule,
      retryAttempts: 0,
      within: Duration.minutes(5),
    });
  }
}
