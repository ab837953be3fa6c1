import { Alarm, ComparisonOperator, MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { monitoringOf } from '../../config/parts.ts';
import { sweepIntervalSeconds } from '../../config/schedule-expression.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { ServiceFunction } from '../function/service-function.ts';
import type { AlarmSpec, AlarmSubjects } from './alarm-spec.ts';
import { newsletterAlarms } from './newsletter-alarms.ts';
import {
  DAY,
  FIVE_MINUTES,
  HOUR,
  monitorWindow,
  overChannels,
  percentage,
  QUARTER,
  ServiceMetrics,
} from './service-metrics.ts';
import { indexingAlarms, outcomeAlarms } from './stream-alarms.ts';

export interface AlarmsProps extends AlarmSubjects {
  readonly config: StageConfig;
  readonly topic: ITopic;
}

/** The alarms of the table. The description of each has its severity and its section of the runbook. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, { config, topic, ...subjects }: AlarmsProps) {
    super(scope, id);
    const action = new SnsAction(topic);
    this.all = alarmTable(config, subjects).map(({ name, of, severity, meaning, ...alarm }) => {
      const fullName = of === undefined ? name : `${name}-${of}`;
      const made = new Alarm(this, fullName, {
        evaluationPeriods: 1,
        ...alarm,
        alarmName: `notification-retry-${config.stage}-${fullName}`,
        alarmDescription: `[${severity}] ${meaning}. What to do: docs/runbook.md#${name}`,
      });
      made.addAlarmAction(action);
      // Operators also want to know when the cause is over.
      made.addOkAction(action);
      return made;
    });
  }
}

const DEFAULTS = {
  comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
  treatMissingData: TreatMissingData.NOT_BREACHING,
} as const;
/** CloudWatch looks back a week at most. */
const LONGEST_HOURS = 168;

/** What a stage with critical monitoring is told: that notifications are lost or late, or a newsletter was not sent. */
const CRITICAL: readonly string[] = [
  'sweep-missing',
  'dead-letters-growing',
  'oldest-due',
  'rows-not-taken-in',
  'indexer-lag',
  'rows-missed',
  'newsletter-failed',
  'newsletter-stalled',
  'newsletter-dead-letters',
  'outcomes-lag',
  'verification-broken',
];

/** All alarms of a stage. The thresholds come from the configuration; their defaults from the source documents. */
function alarmTable(config: StageConfig, subjects: AlarmSubjects): AlarmSpec[] {
  const { functions, indexing, newsletterFailures, outcomes } = subjects;
  const specs: AlarmSpec[] = [
    ...channelAlarms(config),
    ...pipelineAlarms(config),
    ...(config.api === false ? [] : apiAlarms(config)),
    ...indexingAlarms(config, indexing),
    ...(newsletterFailures ? newsletterAlarms(config, newsletterFailures) : []),
    ...(outcomes ? outcomeAlarms(config, outcomes) : []),
    ...verificationAlarms(config),
    ...functionAlarms(config, functions),
  ];
  const wanted = monitoringOf(config) === 'full' ? specs : specs.filter(({ name }) => CRITICAL.includes(name));
  return wanted.map((spec) => ({ ...DEFAULTS, ...spec }));
}

function channelAlarms(config: StageConfig): AlarmSpec[] {
  const { alarms } = config;
  const metrics = new ServiceMetrics(config);
  return [
    ...config.channels.map((channel) => ({
      name: 'retry-failures',
      of: channel,
      severity: 'warning' as const,
      meaning: `More than ${alarms.retryFailurePercent} % of the retries on ${channel} fail`,
      metric: percentage(
        'all - delivered',
        {
          all: metrics.of('Retries', channel, 'Sum', QUARTER),
          delivered: metrics.of('RetriesDelivered', channel, 'Sum', QUARTER),
        },
        alarms.retryFailureMinimum,
      ),
      threshold: alarms.retryFailurePercent,
    })),
    ...config.channels.map((channel) => ({
      name: 'processing-delay',
      of: channel,
      severity: 'warning' as const,
      meaning: `What is queued for ${channel} waits more than ${alarms.processingDelayMinutes} minutes on average`,
      metric: metrics.of('LaneDelay', channel, 'Average', FIVE_MINUTES),
      threshold: alarms.processingDelayMinutes * 60,
      evaluationPeriods: 2,
    })),
  ];
}

function pipelineAlarms(config: StageConfig): AlarmSpec[] {
  const { alarms } = config;
  const metrics = new ServiceMetrics(config);
  const pauseSeconds = sweepIntervalSeconds(config.schedule);
  const window = monitorWindow(config);
  const oldestSeconds = (alarms.oldestDueMinutes ?? Math.max(120, (2 * pauseSeconds) / 60)) * 60;
  return [
    {
      name: 'sweep-missing',
      severity: 'critical',
      meaning: 'No scheduled sweep has come to its end for hours',
      // CloudWatch takes older points of a longer range in place of missing ones, and would ring hours later.
      metric: new MathExpression({
        expression: 'FILL(sweeps, 0)',
        usingMetrics: { sweeps: metrics.single('Sweeps', 'Sum', HOUR) },
        period: HOUR,
      }),
      threshold: 1,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.BREACHING,
      evaluationPeriods: Math.min(
        LONGEST_HOURS,
        alarms.sweepMissingHours ?? Math.max(2, Math.ceil((2 * pauseSeconds) / 3600)),
      ),
    },
    {
      name: 'dead-letters-growing',
      severity: 'critical',
      meaning: `More than ${alarms.deadLettersPerHour} notifications died in an hour`,
      metric: overChannels('SUM', metrics.perChannel('DeadLettered', 'Sum', HOUR), HOUR, { absent: 0 }),
      threshold: alarms.deadLettersPerHour,
    },
    {
      name: 'oldest-due',
      severity: 'critical',
      meaning: 'A notification has been due for too long, or nobody looks any more',
      metric: overChannels('MAX', metrics.perChannel('OldestDueAge', 'Maximum', window), window, {
        absent: oldestSeconds + 1,
      }),
      threshold: oldestSeconds,
      treatMissingData: TreatMissingData.BREACHING,
    },
    {
      name: 'breaker-open',
      severity: 'warning',
      meaning: 'A provider is taken to be down; its notifications are held',
      metric: overChannels('SUM', metrics.perChannel('OpenBreakers', 'Maximum', window), window),
      threshold: alarms.openBreakers,
    },
  ];
}

function apiAlarms(config: StageConfig): AlarmSpec[] {
  const { alarms } = config;
  const metrics = new ServiceMetrics(config);
  return [
    {
      name: 'idempotent-repeats',
      severity: 'warning',
      meaning: `More than ${alarms.idempotentRepeatPercent} % of the requests repeat an idempotency key`,
      metric: percentage(
        'FILL(repeats, 0)',
        {
          all: metrics.single('IdempotentRequests', 'Sum', HOUR),
          repeats: metrics.single('IdempotentRepeats', 'Sum', HOUR),
        },
        alarms.idempotentRepeatMinimum,
      ),
      threshold: alarms.idempotentRepeatPercent,
    },
  ];
}

/** Of the schedule: whoever verifies in the console sees the result there. */
function verificationAlarms({ verifySchedule, ...config }: StageConfig): AlarmSpec[] {
  if (verifySchedule === 'off') return [];
  const metrics = new ServiceMetrics(config);
  const hours = Math.ceil((2 * sweepIntervalSeconds(verifySchedule)) / 3600);
  const missing = {
    name: 'verification-missing',
    severity: 'warning' as const,
    meaning: 'No verification has come to its end for two pauses of its schedule',
    metric: new MathExpression({
      expression: 'FILL(ended, 0)',
      usingMetrics: { ended: metrics.single('Verifications', 'Sum', HOUR) },
      period: HOUR,
    }),
    threshold: 1,
    comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
    // Without any point nothing is filled: a stage that has just got its schedule has none until its first run ends.
    treatMissingData: TreatMissingData.IGNORE,
    evaluationPeriods: Math.max(2, hours),
  };
  return [
    {
      name: 'verification-broken',
      severity: 'critical',
      meaning: 'A verification has found a broken rule: something may be lost',
      metric: metrics.single('VerificationViolations', 'Maximum', DAY),
      threshold: 0,
    },
    // CloudWatch does not look back further.
    ...(hours <= LONGEST_HOURS ? [missing] : []),
  ];
}

function functionAlarms({ alarms }: StageConfig, functions: readonly ServiceFunction[]): AlarmSpec[] {
  return [
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
}
