import { METRICS, type MetricName } from '../../src/core/metrics.ts';
import type { Observability } from './middleware.ts';

/** Adds to a metric of the catalogue, in its unit. */
export function count(metrics: Observability['metrics'], name: MetricName, value = 1): void {
  metrics.addMetric(name, METRICS[name].unit, value);
}
