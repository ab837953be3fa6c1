import { Duration, Stack } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Policy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { DispatcherEnv } from '../../../functions/shared/runtime/env.ts';
import { WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-run.ts';
import { lookaheadSchedule, sweepIntervalSeconds } from '../../config/schedule-expression.ts';
import { indexShardsJson, retryPolicyJson } from '../../config/settings-json.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, readBudgetsAndShards, useTableKey } from '../function/permissions.ts';
import { dispatcherReservation } from '../function/reserved-concurrency.ts';
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

/** BATCH-952: the schedule and its dispatcher. Between sweeps, other rules queue what is due soon, or urgent. */
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
    const { schedule, stage, urgentSweepMinutes } = props.config;
    const lookahead = lookaheadSchedule(schedule);
    if (lookahead !== undefined) {
      this.between('Lookahead', lookahead, { ahead: true }, `${stage}: queue ahead what is due before the next sweep`);
    }
    if (urgentSweepMinutes > 0 && urgentSweepMinutes * 60 < sweepIntervalSeconds(schedule)) {
      const rate = `rate(${urgentSweepMinutes} minute${urgentSweepMinutes === 1 ? '' : 's'})`;
      const request = { express_minutes: urgentSweepMinutes };
      this.between('Express', rate, request, `${stage}: queue what is urgent or important and has become due`);
    }
  }

  /** A rule that runs the dispatcher between two sweeps. */
  private between(id: string, schedule: string, request: SweepRequest, description: string): void {
    new Rule(this, id, {
      description: `notification-retry ${description}`,
      schedule: Schedule.expression(schedule),
      targets: [
        new LambdaFunction(this.dispatcher, {
          event: RuleTargetInput.fromObject(request),
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
      reservedConcurrency: dispatcherReservation(config),
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        SWEEP_INTERVAL_SECONDS: String(sweepIntervalSeconds(config.schedule)),
        LANE_SECONDS: String(config.laneMinutes * 60),
        RETRY_POLICY: retryPolicyJson(config),
        INDEX_SHARDS: indexShardsJson(config),
      } satisfies DispatcherEnv,
      permissions: [
        allow(['dynamodb:Query'], [`${tables.log.tableArn}/index/${WORK_INDEX}`]),
        // A malformed row leaves the work index, and the attempt of a worker that crashed on it has its record.
        allow(['dynamodb:BatchGetItem', 'dynamodb:PartiQLUpdate', 'dynamodb:UpdateItem'], [tables.log.tableArn]),
        allow(['dynamodb:GetItem', 'dynamodb:PartiQLInsert', 'dynamodb:PutItem'], [tables.retryLog.tableArn]),
        // Each sweep records itself, and looks for the last one that was completed.
        allow(['dynamodb:UpdateItem', 'dynamodb:Query'], [tables.pipelineState.tableArn]),
        readBudgetsAndShards(tables.pipelineState),
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
