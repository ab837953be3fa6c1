import { Duration } from 'aws-cdk-lib';
import { MathExpression, type Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { sweepIntervalSeconds } from '../../config/schedule-expression.ts';
import type { StageConfig } from '../../config/stage-config.ts';

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
