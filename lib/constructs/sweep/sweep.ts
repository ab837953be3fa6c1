import { Duration, Stack } from 'aws-cdk-lib';
import type { Rule } from 'aws-cdk-lib/aws-events';
import { Construct } from 'constructs';
import type { Deployed, dispatcherEnv } from '../../../functions/shared/runtime/env.ts';
import { BUDGET_KIND, SHARDS_KIND, WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-run.ts';
import { lookaheadSchedule, sweepIntervalSeconds } from '../../config/schedule-expression.ts';
import { indexShardsJson, retryPolicyJson } from '../../config/settings-json.ts';
import { allow, on, queryIndexes, readKinds, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { continueItself, runOnSchedule } from '../function/triggers.ts';
import { laneArns, laneUrls } from '../lanes/channel-lanes.ts';
import type { Stage } from '../stage.ts';

/** BATCH-952: the schedule and its dispatcher. Between sweeps, other rules queue what is due soon, or urgent. */
export class Sweep extends Construct {
  readonly dispatcher: ServiceFunction;
  readonly schedule: Rule;

  constructor(scope: Construct, id: string, props: Stage) {
    super(scope, id);
    this.dispatcher = this.dispatcherFunction(props);
    // The dispatcher tells a sweep from a manual run by EventBridge's own event, which this target passes on.
    this.schedule = runOnSchedule(this, 'Schedule', this.dispatcher, {
      config: props.config,
      what: 'sweep for due notifications',
      schedule: props.config.schedule,
      retryAttempts: 3,
      within: Duration.minutes(15),
    });
    const { schedule, urgentSweepMinutes } = props.config;
    /** Runs the dispatcher between two sweeps. */
    const between = (id: string, schedule: string, event: SweepRequest, what: string) => {
      const run = { config: props.config, what, schedule, event };
      runOnSchedule(this, id, this.dispatcher, { ...run, retryAttempts: 3, within: Duration.minutes(5) });
    };
    const lookahead = lookaheadSchedule(schedule);
    if (lookahead !== undefined) {
      between('Lookahead', lookahead, { ahead: true }, 'queue ahead what is due before the next sweep');
    }
    if (urgentSweepMinutes > 0 && urgentSweepMinutes * 60 < sweepIntervalSeconds(schedule)) {
      const rate = `rate(${urgentSweepMinutes} minute${urgentSweepMinutes === 1 ? '' : 's'})`;
      const request = { express_minutes: urgentSweepMinutes };
      between('Express', rate, request, 'queue what is urgent or important and has become due');
    }
  }

  private dispatcherFunction({ config, tables, encryption, channels }: Stage): ServiceFunction {
    const dispatcher = new ServiceFunction(this, 'Dispatcher', {
      config,
      name: 'dispatcher',
      description: 'Sweeps the work index and sends what is due to its lane (BATCH-952)',
      timeout: Duration.minutes(15),
      allowRecursion: true,
      reservedConcurrency: config.reservedConcurrency?.dispatcher,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        SWEEP_INTERVAL_SECONDS: String(sweepIntervalSeconds(config.schedule)),
        LANE_SECONDS: String(config.laneMinutes * 60),
        RETRY_POLICY: retryPolicyJson(config),
        INDEX_SHARDS: indexShardsJson(config),
      } satisfies Deployed<typeof dispatcherEnv>,
      permissions: [
        queryIndexes(tables.log, WORK_INDEX),
        // A malformed row leaves the work index, and the attempt of a worker that crashed on it has its record.
        on(tables.log, 'BatchGetItem', 'PartiQLUpdate', 'UpdateItem'),
        on(tables.retryLog, 'GetItem', 'PartiQLInsert', 'PutItem'),
        // Each sweep records itself, and looks for the last one that was completed.
        on(tables.pipelineState, 'UpdateItem', 'Query'),
        readKinds(tables.pipelineState, BUDGET_KIND, SHARDS_KIND),
        useTableKey(encryption.dataKey),
        allow(['sqs:SendMessage', 'sqs:GetQueueAttributes'], laneArns(channels)),
      ],
    });
    continueItself(this, dispatcher);
    return dispatcher;
  }
}
