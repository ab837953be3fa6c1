import { Duration } from 'aws-cdk-lib';
import {
  type AlarmProps,
  ComparisonOperator,
  MathExpression,
  type Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { CHANNELS, type Channel } from '../../../src/core/model/channels.ts';
import { sweepIntervalSeconds } from '../../config/schedule.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { ServiceFunction } from '../function/service-function.ts';
import type { ChannelLanes } from '../lanes/channel-lanes.ts';
import { OwnMetrics } from './service-metrics.ts';

/** `critical`: notifications do not go out, or nobody would notice. `warning`: look at it today. */
export type Severity = 'critical' | 'warning';

/** An alarm; rings when the metric is above its threshold unless `comparisonOperator` says otherwise. */
export interface AlarmSpec
  extends Pick<AlarmProps, 'metric' | 'threshold'>,
    Partial<Pick<AlarmProps, 'evaluationPeriods' | 'comparisonOperator' | 'treatMissingData'>> {
  /** Also the name of its section in docs/runbook.md. */
  readonly name: string;
  /** The channel or function it is about, where there are several. */
  readonly of?: string;
  readonly severity: Severity;
  readonly meaning: string;
}

export interface AlarmSubjects {
  readonly channels: Readonly<Record<Channel, ChannelLanes>>;
  readonly functions: readonly ServiceFunction[];
  /** The queue of rows that the due-indexer had to give up. */
  readonly notTakenIn: Queue;
}

const FIVE_MINUTES = Duration.minutes(5);
const QUARTER = Duration.minutes(15);
const HOUR = Duration.hours(1);

const QUIET = {
  comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
  treatMissingData: TreatMissingData.NOT_BREACHING,
} as const;

/** All alarms of a stage. Thresholds are the configuration's; figures the source documents' where these have one. */
export function alarmTable(config: StageConfig, { channels, functions, notTakenIn }: AlarmSubjects): AlarmSpec[] {
  const { alarms } = config;
  const own = new OwnMetrics(config);
  const pauseSeconds = sweepIntervalSeconds(config.schedule);
  const looked = looksOf(config);
  const specs: AlarmSpec[] = [
    ...CHANNELS.map((channel) => ({
      name: 'dead-letters-growing',
      of: channel,
      severity: 'critical' as const,
      meaning: `More than ${alarms.deadLettersPerHour} dead letters of ${channel} in an hour`,
      metric: growth(channels[channel].deadLetters),
      threshold: alarms.deadLettersPerHour,
    })),
    ...CHANNELS.map((channel) => ({
      name: 'retry-failures',
      of: channel,
      severity: 'warning' as const,
      meaning: `More than ${alarms.retryFailurePercent} % of the attempts on ${channel} fail`,
      metric: percentage(
        'all - delivered',
        {
          all: own.of('Attempts', channel, 'Sum', QUARTER),
          delivered: own.of('Delivered', channel, 'Sum', QUARTER),
        },
        alarms.retryFailureMinimum,
      ),
      threshold: alarms.retryFailurePercent,
    })),
    ...CHANNELS.map((channel) => ({
      name: 'processing-delay',
      of: channel,
      severity: 'warning' as const,
      meaning: `What is queued for ${channel} waits more than ${alarms.processingDelayMinutes} minutes on average`,
      metric: own.of('LaneDelay', channel, 'Average', FIVE_MINUTES),
      threshold: alarms.processingDelayMinutes * 60,
      evaluationPeriods: 2,
    })),
    {
      name: 'sweep-missing',
      severity: 'critical',
      meaning: 'No scheduled sweep has come to its end for hours',
      metric: own.single('Sweeps', 'Sum', HOUR),
      threshold: 1,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.BREACHING,
      // CloudWatch looks back a week at most.
      evaluationPeriods: Math.min(168, alarms.sweepMissingHours ?? Math.max(2, Math.ceil((2 * pauseSeconds) / 3600))),
    },
    {
      name: 'oldest-due',
      severity: 'critical',
      meaning: 'A notification has been due for too long, or nobody looks any more',
      metric: new MathExpression({
        expression: `MAX([${CHANNELS.join(', ')}])`,
        usingMetrics: own.perChannel('OldestDueAge', 'Maximum', looked),
        period: looked,
      }),
      threshold: (alarms.oldestDueMinutes ?? Math.max(120, (2 * pauseSeconds) / 60)) * 60,
      treatMissingData: TreatMissingData.BREACHING,
    },
    {
      name: 'breaker-open',
      severity: 'warning',
      meaning: 'A provider is taken to be down; its notifications are held',
      metric: new MathExpression({
        expression: `SUM([${CHANNELS.join(', ')}])`,
        usingMetrics: own.perChannel('OpenBreakers', 'Maximum', looked),
        period: looked,
      }),
      threshold: alarms.openBreakers,
    },
    {
      name: 'idempotent-repeats',
      severity: 'warning',
      meaning: `More than ${alarms.idempotentRepeatPercent} % of the requests repeat an idempotency key`,
      metric: percentage(
        'FILL(repeats, 0)',
        {
          all: own.single('IdempotentRequests', 'Sum', HOUR),
          repeats: own.single('IdempotentRepeats', 'Sum', HOUR),
        },
        alarms.idempotentRepeatMinimum,
      ),
      threshold: alarms.idempotentRepeatPercent,
    },
    {
      name: 'rows-not-taken-in',
      severity: 'critical',
      meaning: 'Rows that others wrote could not be taken in for a day',
      metric: notTakenIn.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: FIVE_MINUTES }),
      threshold: 0,
    },
    ...functions.map((one) => ({
      name: 'function-errors',
      of: one.service,
      severity: 'warning' as const,
      meaning: `Invocations of ${one.service} fail`,
      metric: one.metricErrors({ statistic: 'Sum', period: FIVE_MINUTES }),
      threshold: alarms.functionErrors,
    })),
    ...functions.map((one) => ({
      name: 'function-throttles',
      of: one.service,
      severity: 'warning' as const,
      meaning: `Lambda has refused invocations of ${one.service} for a quarter of an hour`,
      metric: one.metricThrottles({ statistic: 'Sum', period: FIVE_MINUTES }),
      threshold: alarms.functionThrottles,
      evaluationPeriods: 3,
    })),
  ];
  return specs.map((spec) => ({ ...QUIET, ...spec }));
}

/** Long enough for three looks of the monitor, so that one that is late is not taken for none. */
export function looksOf({ monitorSchedule }: StageConfig): Duration {
  const quarters = Math.ceil((3 * sweepIntervalSeconds(monitorSchedule)) / QUARTER.toSeconds());
  return Duration.minutes(15 * Math.min(96, quarters));
}

/**
 * By how many messages a queue grew in an hour. By its depth: what SQS moves by itself is in none of its counters. A
 * queue that has been empty for hours has no metric, which counts as empty.
 */
function growth(queue: Queue): MathExpression {
  const depth = queue.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: HOUR });
  return new MathExpression({ expression: 'DIFF(FILL(depth, 0))', usingMetrics: { depth }, period: HOUR });
}

/** Below the minimum of all it is 0: one of two is no rate. */
function percentage(
  part: string,
  metrics: Readonly<Record<string, Metric>> & { readonly all: Metric },
  minimum: number,
): MathExpression {
  const { period = FIVE_MINUTES } = metrics.all;
  return new MathExpression({
    expression: `IF(all >= ${minimum}, 100 * (${part}) / all, 0)`,
    usingMetrics: { ...metrics },
    period,
  });
}
