import type { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { CHANNELS, type Channel } from '../../../src/core/model/channels.ts';
import { dimensionsOf, METRICS, type MetricName, servicesOf } from '../../../src/core/model/metrics.ts';
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
