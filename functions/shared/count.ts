import { METRICS, type MetricName } from '../../src/core/metrics.ts';
import type { Observability } from './middleware.ts';

/** Adds to a metric of the catalogue, in its unit. */
export function count(metrics: Observability['metrics'], name: MetricName, value = 1): void {
  metrics.addMetric(name, METRICS[name].unit, value);
}

/** Adds to a metric that has a value of one more dimension, on a line of its own: sum up first. */
export function countBy(
  metrics: Observability['metrics'],
  name: MetricName,
  dimension: { readonly channel: string } | { readonly error_type: string },
  value: number,
): void {
  const single = metrics.singleMetric();
  for (const [key, text] of Object.entries(dimension)) single.addDimension(key, text);
  single.addMetric(name, METRICS[name].unit, value);
}
