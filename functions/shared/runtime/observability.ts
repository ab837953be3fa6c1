import type { Context } from 'aws-lambda';
import type * as v from 'valibot';
import { METRICS, type MetricDefinition, type MetricName } from '../../../src/core/model/metrics.ts';
import { parseEnv } from './env-values.ts';
import { Logger } from './logger.ts';
import { Metrics } from './metrics.ts';

/** The outputs of every function: structured logs and embedded metrics. Neither contains personal data. */
export interface Observability {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What every function does: request ids on each log line, and metrics written at the end, also after an error. */
export function withObservability<Event, Result>(
  handler: (event: Event, context: Context) => Promise<Result>,
  { logger, metrics }: Observability,
) {
  return async (event: Event, context: Context): Promise<Result> => {
    logger.addContext(context);
    try {
      return await handler(event, context);
    } finally {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    }
  };
}

/**
 * A function's entry, as Lambda loads it: its environment is read and checked once, and its handler is wrapped.
 * Service name, namespace and level come from the environment.
 * @throws Error for an environment that is incomplete or malformed
 */
export function bindFunction<S extends v.GenericSchema, Event, Result>(
  schema: S,
  create: (env: v.InferOutput<S>, observability: Observability) => (event: Event, context: Context) => Promise<Result>,
) {
  const env = parseEnv(schema, process.env);
  const observability = { logger: new Logger(), metrics: new Metrics() };
  return withObservability(create(env, observability), observability);
}

/** Adds to a metric of the catalogue, in the metric's unit. */
export function count(metrics: Observability['metrics'], name: MetricName, value = 1): void {
  if (isWanted(name)) metrics.addMetric(name, METRICS[name].unit, value);
}

/** Adds to a metric that needs dimensions beyond the function's defaults. */
export function countBy(
  metrics: Observability['metrics'],
  name: MetricName,
  dimensions: Readonly<Partial<Record<MetricDefinition['by'][number], string>>>,
  value = 1,
): void {
  if (isWanted(name)) metrics.publish(name, METRICS[name].unit, value, { ...dimensions });
}

/** With the stage's monitoring off, none is written at all. */
function isWanted(name: MetricName): boolean {
  return process.env['MONITORING'] !== 'critical' || METRICS[name].idle !== 'full';
}
