import { Duration, Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Color,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  PeriodOverride,
  SingleValueWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { MetricName } from '../../../src/core/model/metrics.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { AlarmSubjects } from './alarm-spec.ts';
import { FIVE_MINUTES, HOUR, monitorWindow, ServiceMetrics, type Statistic } from './service-metrics.ts';

export interface StageDashboardProps extends AlarmSubjects {
  readonly config: StageConfig;
  readonly alarms: readonly Alarm[];
}

/** Columns of CloudWatch's grid. */
const WIDTH = 24;

const OUTCOMES = [
  ['Delivered', Color.GREEN],
  ['Retried', Color.ORANGE],
  ['Stopped', Color.GREY],
  ['DeadLettered', Color.RED],
] as const satisfies readonly (readonly [MetricName, string])[];

/** From top to bottom: delivery as a whole, delivery by channel, the sweep, the functions. */
export class StageDashboard extends Construct {
  readonly dashboard: Dashboard;

  constructor(scope: Construct, id: string, props: StageDashboardProps) {
    super(scope, id);
    this.dashboard = new Dashboard(this, 'Dashboard', {
      // Dashboards are one per account and name, whatever the region: the stage may be in a second one, too.
      dashboardName: `notification-retry-${props.config.stage}-${Stack.of(this).region}`,
      defaultInterval: Duration.hours(12),
      periodOverride: PeriodOverride.INHERIT,
      widgets: rowsOf(props).map((widgets) => [...widgets]),
    });
  }
}

function rowsOf(props: StageDashboardProps): (readonly IWidget[])[] {
  const { config, alarms } = props;
  const metrics = new ServiceMetrics(config);
  const window = monitorWindow(config);
  return [
    totals(config, metrics, window),
    [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: WIDTH, height: 4 })],
    config.channels.map((channel) => outcomes(channel, config.channels.length, metrics)),
    ...delivery(props, metrics),
    sweep(config, metrics, window),
    [
      ...(config.channels.includes('email') ? budgetOfEmail(metrics, window, config.newsletters === true) : []),
      graph('Postponed by a budget', everyChannel(config, metrics, ['Paced', 'Sum'])),
    ],
    ...(config.newsletters === true ? [newsletters(metrics)] : []),
    functionsOf(props),
  ];
}

function totals({ channels }: StageConfig, metrics: ServiceMetrics, window: Duration): IWidget[] {
  const total = (name: MetricName, how: 'SUM' | 'MAX', statistic: Statistic, period: Duration, color: string) =>
    single(
      TITLES[name] ?? name,
      new MathExpression({
        expression: `${how}([${channels.map((channel) => `FILL(${channel}, 0)`).join(', ')}])`,
        usingMetrics: metrics.perChannel(name, statistic, period),
        label: name,
        period,
        color,
      }),
    );
  return [
    total('Delivered', 'SUM', 'Sum', HOUR, Color.GREEN),
    total('DeadNotifications', 'SUM', 'Maximum', window, Color.RED),
    total('OldestDueAge', 'MAX', 'Maximum', window, Color.ORANGE),
    total('OpenBreakers', 'SUM', 'Maximum', window, Color.PURPLE),
  ];
}

/** A line for each channel. */
function everyChannel(
  { channels }: StageConfig,
  metrics: ServiceMetrics,
  [name, statistic]: readonly [MetricName, Statistic],
  period = FIVE_MINUTES,
): IMetric[] {
  return channels.map((channel) => metrics.of(name, channel, statistic, period).with({ label: channel }));
}

/** How soon, by which errors, and how often again. */
function delivery({ config, channels }: StageDashboardProps, metrics: ServiceMetrics): IWidget[][] {
  const times = (name: MetricName, statistic: Statistic) => everyChannel(config, metrics, [name, statistic]);
  const lanes = Object.entries(channels);
  const letters = lanes.map(([label, { deadLetters }]) =>
    deadLetters.metricApproximateNumberOfMessagesVisible({ ...MOST, label }),
  );
  const oldest = lanes.map(([label, one]) => one.deadLetters.metricApproximateAgeOfOldestMessage({ ...MOST, label }));
  const shares = (name: MetricName, apart = false) => everyShare(config, metrics, name, apart);
  return [
    [
      graph('Queued until attempted (s, average)', times('LaneDelay', 'Average')),
      graph('Due until attempted (s, average)', times('ProcessingDelay', 'Average')),
      graph('Provider answers in (ms, p95)', times('SendDuration', 'p95')),
    ],
    [
      graph('Failed attempts by error', [search(metrics.byErrorType('FailedAttempts', 300))]),
      graph('Given up by reason', [search(metrics.byErrorType('GivenUp', 300))]),
      graph('Messages in the dead-letter queues', letters),
    ],
    [
      graph('Automatic retries delivered (%)', shares('RetriesDelivered'), QUARTER_WIDTH),
      graph('Retries asked for by end users (%)', shares('ManualRetries', true), QUARTER_WIDTH),
      ...(config.api === false ? [] : [repeats(metrics)]),
      graph('Oldest dead letter (s)', oldest, QUARTER_WIDTH),
    ],
  ];
}

/** In percent of the automatic retries. @param apart it is none of them: of these and itself */
function everyShare({ channels }: StageConfig, metrics: ServiceMetrics, name: MetricName, apart: boolean): IMetric[] {
  return channels.map((channel) => {
    const [automatic, part] = [`automatic_${channel}`, `part_${channel}`];
    const usingMetrics = {
      [automatic]: metrics.of('Retries', channel, 'Sum', HOUR),
      [part]: metrics.of(name, channel, 'Sum', HOUR),
    };
    const expression = `100 * ${part} / ${apart ? `(${automatic} + ${part})` : automatic}`;
    return new MathExpression({ expression, usingMetrics, label: channel, period: HOUR });
  });
}

function sweep(config: StageConfig, metrics: ServiceMetrics, window: Duration): IWidget[] {
  return [
    graph('Sweep: notifications', [
      metrics.single('SweepDue', 'Sum', HOUR),
      metrics.single('SweepDispatched', 'Sum', HOUR),
      metrics.single('SweepSkipped', 'Sum', HOUR),
    ]),
    graph('Sweep: duration (ms)', [metrics.single('SweepDuration', 'Maximum', HOUR)]),
    graph('Oldest due (s)', everyChannel(config, metrics, ['OldestDueAge', 'Maximum'], window)),
  ];
}

function functionsOf({ functions }: StageDashboardProps): IWidget[] {
  const every = (title: string, metricOf: (one: (typeof functions)[number]) => IMetric) =>
    graph(`Function ${title}`, functions.map(metricOf));
  return [
    every('errors', (one) => one.metricErrors({ ...ONE_FUNCTION, label: one.service })),
    every('throttles', (one) => one.metricThrottles({ ...ONE_FUNCTION, label: one.service })),
    every('duration (ms, p95)', (one) => one.metricDuration({ ...ONE_FUNCTION, statistic: 'p95', label: one.service })),
  ];
}

function budgetOfEmail(metrics: ServiceMetrics, window: Duration, hasNewsletters: boolean): IWidget[] {
  return [
    graph('Budget of e-mail: sends a second', [
      metrics.of('SendRate', 'email', 'Average', window).with({ label: 'planned' }),
      new MathExpression({
        expression: 'attempts / PERIOD(attempts)',
        usingMetrics: { attempts: metrics.of('Attempts', 'email', 'Sum', FIVE_MINUTES) },
        label: 'used by notifications',
        period: FIVE_MINUTES,
      }),
      ...(hasNewsletters ? [usedByNewsletters(metrics)] : []),
    ]),
    graph('Budget of e-mail: 24 hours', [
      metrics.of('DailyQuota', 'email', 'Maximum', window).with({ label: 'quota' }),
      metrics.of('DailyQuotaUsed', 'email', 'Maximum', window).with({ label: 'used' }),
    ]),
  ];
}

function usedByNewsletters(metrics: ServiceMetrics): IMetric {
  return new MathExpression({
    expression: 'delivered / PERIOD(delivered)',
    usingMetrics: { delivered: metrics.single('NewsletterDelivered', 'Sum', FIVE_MINUTES) },
    label: 'used by newsletters, as delivered',
    period: FIVE_MINUTES,
  });
}

function newsletters(metrics: ServiceMetrics): IWidget[] {
  return [
    graph('Newsletters: deliveries', [metrics.single('NewsletterDelivered', 'Sum', FIVE_MINUTES)]),
    graph('Newsletters: bounces, complaints, unsubscriptions', [
      metrics.single('NewsletterBounced', 'Sum', FIVE_MINUTES),
      metrics.single('NewsletterComplained', 'Sum', FIVE_MINUTES),
      metrics.single('Unsubscriptions', 'Sum', FIVE_MINUTES),
    ]),
    graph('Newsletters: failed, stalled, uncertain', [
      metrics.single('NewslettersFailed', 'Sum', FIVE_MINUTES),
      metrics.single('NewslettersStalled', 'Sum', FIVE_MINUTES),
      metrics.single('NewsletterUncertain', 'Sum', FIVE_MINUTES),
    ]),
  ];
}

function repeats(metrics: ServiceMetrics): IWidget {
  const usingMetrics = {
    repeats: metrics.single('IdempotentRepeats', 'Sum', HOUR),
    requests: metrics.single('IdempotentRequests', 'Sum', HOUR),
  };
  const expression = '100 * FILL(repeats, 0) / requests';
  const share = new MathExpression({ expression, usingMetrics, label: 'repeats', period: HOUR });
  return graph('Requests that repeat a key (%)', [share], QUARTER_WIDTH);
}

const TITLES: Partial<Record<MetricName, string>> = {
  Delivered: 'Delivered in an hour',
  DeadNotifications: 'Dead, waiting for an operator',
  OldestDueAge: 'Oldest due (s)',
  OpenBreakers: 'Providers down',
};
const QUARTER_WIDTH = WIDTH / 4;
const ONE_FUNCTION = { statistic: 'Sum', period: FIVE_MINUTES } as const;
const MOST = { statistic: 'Maximum', period: FIVE_MINUTES } as const;

function single(title: string, metric: IMetric): IWidget {
  return new SingleValueWidget({ title, metrics: [metric], width: WIDTH / 4, height: 4, sparkline: true });
}

function graph(title: string, left: IMetric[], width = WIDTH / 3): IWidget {
  return new GraphWidget({ title, left, width, height: 6 });
}

function outcomes(channel: Channel, of: number, metrics: ServiceMetrics): IWidget {
  return new GraphWidget({
    title: channel,
    stacked: true,
    width: WIDTH / of,
    height: 6,
    left: OUTCOMES.map(([name, color]) => metrics.of(name, channel, 'Sum', FIVE_MINUTES).with({ label: name, color })),
  });
}

function search(expression: string): IMetric {
  return new MathExpression({ expression, label: '', usingMetrics: {}, period: FIVE_MINUTES });
}
