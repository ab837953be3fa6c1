import { definitionOf, type MetricDefinition, type MetricName } from '../../../src/core/model/metrics.ts';
import type { Observability } from './observability.ts';

/** Adds to a metric of the catalogue, in the metric's unit. */
export function count(metrics: Observability['metrics'], name: MetricName, value = 1): void {
  if (isWanted(name)) metrics.addMetric(name, definitionOf(name).unit, value);
}

/** Adds to a metric that needs dimensions beyond the function's defaults. */
export function countBy(
  metrics: Observability['metrics'],
  name: MetricName,
  dimensions: Readonly<Partial<Record<MetricDefinition['by'][number], string>>>,
  value = 1,
): void {
  if (!isWanted(name)) return;
  const single = metrics.singleMetric();
  single.addDimensions({ ...dimensions });
  single.addMetric(name, definitionOf(name).unit, value);
}

/** With the stage's monitoring off, Powertools itself writes none. */
function isWanted(name: MetricName): boolean {
  return process.env['MONITORING'] !== 'critical' || definitionOf(name).idle !== 'full';
}
