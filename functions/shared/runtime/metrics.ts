import { METRICS, type MetricDefinition, type MetricName } from '../../../src/core/model/metrics.ts';
import type { Observability } from './observability.ts';

/** Adds to a metric of the catalogue, in the metric's unit. */
export function count(metrics: Observability['metrics'], name: MetricName, value = 1): void {
  metrics.addMetric(name, METRICS[name].unit, value);
}

/** Adds to a metric that needs dimensions beyond the function's defaults. */
export function countBy(
  metrics: Observability['metrics'],
  name: MetricName,
  dimensions: Readonly<Partial<Record<MetricDefinition['by'][number], string>>>,
  value = 1,
): void {
  const single = metrics.singleMetric();
  single.addDimensions({ ...dimensions });
  single.addMetric(name, METRICS[name].unit, value);
}
