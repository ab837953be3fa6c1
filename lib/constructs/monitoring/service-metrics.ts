import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { CHANNELS, type Channel } from '../../../src/core/model/channels.ts';
import { dimensionsOf, METRICS, type MetricName, servicesOf } from '../../../src/core/model/metrics.ts';
import { sweepIntervalSeconds } from '../../config/schedule-expression.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { metricNamespace } from '../function/service-function.ts';

export type Statistic = 'Sum' | 'Average' | 'Maximum' | 'p95';

/** The CloudWatch metrics of a stage, by their names in the catalogue (src/core/model/metrics.ts). */
export class ServiceMetrics {
  readonly #namespace: string;
  readonly #channels: readonly Channel[];

  constructor(config: Pick<StageConfig, 'stage' | 'channels'>) {
    this.#namespace = metricNamespace(config);
    this.#channels = config.channels;
  }

  of(name: MetricName, channel: Channel, statistic: Statistic, period: Duration): Metric {
    return new Metric({
      namespace: this.#namespace,
      metricName: name,
      dimensionsMap: { ...dimensionsOf(name, channel) },
      statistic,
      period,
    });
  }

  /** A metric without a channel. */
  single(name: MetricName, statistic: Statistic, period: Duration): Metric {
    return this.of(name, CHANNELS[0], statistic, period);
  }

  /** One metric per channel of the stage, for a math expression. */
  perChannel(name: MetricName, statistic: Statistic, period: Duration): Record<string, Metric> {
    return Object.fromEntries(this.#channels.map((channel) => [channel, this.of(name, channel, statistic, period)]));
  }

  /** A search expression that finds a metric for every error type. Dashboards can search, alarms cannot. */
  byErrorType(name: MetricName, periodSeconds: number): string {
    const dimensions = ['service', ...METRICS[name].by].join(',');
    const services = servicesOf(name).map((service) => `"${service}"`);
    const where = `service=(${services.join(' OR ')}) MetricName="${name}"`;
    return `SEARCH('{"${this.#namespace}",${dimensions}} ${where}', 'Sum', ${periodSeconds})`;
  }
}

export const FIVE_MINUTES = Duration.minutes(5);
export const QUARTER = Duration.minutes(15);
export const HOUR = Duration.hours(1);
export const DAY = Duration.days(1);

/** The period of the monitor's metrics. It covers three runs of the monitor, so that a late run is no missing run. */
export function monitorWindow({ monitorSchedule }: StageConfig): Duration {
  const quarters = Math.ceil((3 * sweepIntervalSeconds(monitorSchedule)) / QUARTER.toSeconds());
  return Duration.minutes(15 * Math.min(96, quarters));
}

/**
 * The percentage of `all` that the expression `part` makes up. It is 0 if `all` is below the minimum, because one of
 * two is no rate.
 * @param whole the expression that is the whole, where it is more than the metric `all`
 */
export function percentage(
  part: string,
  metrics: Readonly<Record<string, Metric>> & { readonly all: Metric },
  minimum: number,
  whole = 'all',
): MathExpression {
  const { period = FIVE_MINUTES } = metrics.all;
  return new MathExpression({
    expression: `IF(${whole} >= ${minimum}, 100 * (${part}) / ${whole}, 0)`,
    usingMetrics: { ...metrics },
    period,
  });
}

/**
 * The sum or the maximum of a metric over all channels.
 * @param absent stands for a channel without a value; otherwise the metric has none where one of its parts has none
 */
export function overChannels(
  how: 'SUM' | 'MAX',
  metrics: Readonly<Record<string, Metric>>,
  period: Duration,
  { absent }: { readonly absent?: number } = {},
): MathExpression {
  const parts = Object.keys(metrics).map((channel) => (absent === undefined ? channel : `FILL(${channel}, ${absent})`));
  return new MathExpression({ expression: `${how}([${parts.join(', ')}])`, usingMetrics: { ...metrics }, period });
}
