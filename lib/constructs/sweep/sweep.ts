import { Duration, Stack } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Policy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { DispatcherEnv } from '../../../functions/shared/runtime/env.ts';
import { WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-request.ts';
import { lookaheadSchedule, sweepIntervalSeconds } from '../../config/schedule-expression.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { type Channels, laneArns, laneUrls } from '../lanes/lane-queues.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

export interface SweepProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly encryption: Encryption;
  readonly channels: Channels;
}

/** BATCH-952: the schedule and its dispatcher. Between sweeps, a second rule queues ahead what is due soon. */
export class Sweep extends Construct {
  readonly dispatcher: ServiceFunction;
  readonly schedule: Rule;

  constructor(scope: Construct, id: string, props: SweepProps) {
    super(scope, id);
    this.dispatcher = this.dispatcherFunction(props);
    this.schedule = new Rule(this, 'Schedule', {
      description: `notification-retry ${props.config.stage}: sweep for due notifications`,
      schedule: Schedule.expression(props.config.schedule),
      // The dispatcher tells a sweep from a manual run by EventBridge's own event, which this target passes on.
      targets: [
        new LambdaFunction(this.dispatcher, {
          retryAttempts: 3,
          maxEventAge: Duration.minutes(15),
        }),
      ],
    });
    const lookahead = lookaheadSchedule(props.config.schedule);
    if (lookahead === undefined) return;
    new Rule(this, 'Lookahead', {
      description: `notification-retry ${props.config.stage}: queue ahead what is due before the next sweep`,
      schedule: Schedule.expression(lookahead),
      targets: [
        new LambdaFunction(this.dispatcher, {
          event: RuleTargetInput.fromObject({ ahead: true } satisfies SweepRequest),
          retryAttempts: 3,
          maxEventAge: Duration.minutes(5),
        }),
      ],
    });
  }

  private dispatcherFunction({ config, tables, encryption, channels }: SweepProps): ServiceFunction {
    const dispatcher = new ServiceFunction(this, 'Dispatcher', {
      config,
      name: 'dispatcher',
      description: 'Sweeps the work index and sends what is due to its lane (BATCH-952)',
      timeout: Duration.minutes(15),
      allowRecursion: true,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        SWEEP_INTERVAL_SECONDS: String(sweepIntervalSeconds(config.schedule)),
      } satisfies DispatcherEnv,
      permissions: [
        allow(['dynamodb:Query'], [`${tables.log.tableArn}/index/${WORK_INDEX}`]),
        // A malformed row leaves the work index.
        allow(['dynamodb:UpdateItem'], [tables.log.tableArn]),
        // Each sweep records itself, and looks for the last one that was completed.
        allow(['dynamodb:GetItem', 'dynamodb:UpdateItem', 'dynamodb:Query'], [tables.pipelineState.tableArn]),
        useTableKey(encryption.dataKey),
        allow(['sqs:SendMessage', 'sqs:GetQueueAttributes'], laneArns(channels)),
      ],
    });
    // A sweep that runs out of time invokes itself with a cursor. The right is in a separate policy, because the
    // function waits for its role's default policy, and CloudFormation refuses cycles.
    new Policy(this, 'Continuation', {
      statements: [allow(['lambda:InvokeFunction'], [dispatcher.functionArn])],
      roles: [dispatcher.executionRole],
    });
    return dispatcher;
  }
}
