import { Duration, Stack } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Policy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { DispatcherEnv } from '../../../functions/shared/runtime/env.ts';
import { WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';

import type { Channel } from '../../../src/core/model/channels.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-request.ts';
import { lookaheadSchedule, sweepIntervalSeconds } from '../../config/schedule.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, useTables } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import type { ChannelLanes } from '../lanes/channel-lanes.ts';
import { laneUrls } from '../lanes/lane-urls.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

export interface SweepProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly encryption: Encryption;
  readonly channels: Readonly<Record<Channel, ChannelLanes>>;
}

/** BATCH-952: the schedule, and the dispatcher that it fires; between its sweeps what is due soon is queued ahead. */
export class Sweep extends Construct {
  readonly dispatcher: ServiceFunction;
  readonly schedule: Rule;

  constructor(scope: Construct, id: string, props: SweepProps) {
    super(scope, id);
    this.dispatcher = this.dispatcherFunction(props);
    this.schedule = new Rule(this, 'Schedule', {
      description: `notification-retry ${props.config.stage}: sweep for due notifications`,
      schedule: Schedule.expression(props.config.schedule),
      // It passes EventBridge's own event, by which the dispatcher tells a sweep from a run by hand.
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
    const lanes = Object.values(channels).flatMap(({ express, standard }) => [express, standard]);
    const dispatcher = new ServiceFunction(this, 'Dispatcher', {
      config,
      name: 'dispatcher',
      description: 'Sweeps the work index and sends what is due to its lane (BATCH-952)',
      timeout: Duration.minutes(15),
      feedsItself: true,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        SWEEP_INTERVAL_SECONDS: String(sweepIntervalSeconds(config.schedule)),
      } satisfies DispatcherEnv,
      permissions: [
        allow(['dynamodb:Query'], [`${tables.log.tableArn}/index/${WORK_INDEX}`]),
        // Each sweep leaves a record of itself.
        allow(['dynamodb:UpdateItem'], [tables.pipelineState.tableArn]),
        useTables(encryption.dataKey),
        allow(
          ['sqs:SendMessage', 'sqs:GetQueueAttributes'],
          lanes.map((lane) => lane.queueArn),
        ),
      ],
    });
    // A sweep that runs out of time invokes itself with a cursor. In a policy of its own, as the function waits for
    // its role's default policy and CloudFormation takes no circles.
    new Policy(this, 'Continuation', {
      statements: [allow(['lambda:InvokeFunction'], [dispatcher.functionArn])],
      roles: [dispatcher.ownRole],
    });
    return dispatcher;
  }
}
