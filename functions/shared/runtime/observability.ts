import { Logger } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { Metrics } from '@aws-lambda-powertools/metrics';
import middy, { type MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import type * as v from 'valibot';
import { METRICS, type MetricDefinition, type MetricName } from '../../../src/core/model/metrics.ts';
import { parseEnv } from './env-values.ts';

/** The outputs of every function: structured logs and embedded metrics. Neither contains personal data. */
export interface Observability {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Powertools' own middleware would log a warning in each invocation that has no metrics. */
function publishing(metrics: Metrics): MiddlewareObj {
  const publish = () => {
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
  };
  return { after: publish, onError: publish };
}

/**
 * The middleware of every function: request ids on each log line, and metrics flushed at the end, also after an error.
 */
export function withObservability<Event, Result>(
  handler: (event: Event, context: Context) => Promise<Result>,
  { logger, metrics }: Observability,
) {
  return middy<Event, Result>()
    .use(injectLambdaContext(logger, { resetKeys: true }))
    .use(publishing(metrics))
    .handler(handler);
}

/**
 * A function's entry, as Lambda loads it: its environment is read and checked once, and its handler gets the middleware.
 * Service name, namespace and level come from Powertools' own environment variables.
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
  if (!isWanted(name)) return;
  const single = singles.get(metrics) ?? metrics.singleMetric();
  singles.set(metrics, single);
  single.addDimensions({ ...dimensions });
  single.addMetric(name, METRICS[name].unit, value);
}

/** Each writes its metric and forgets it at once. To make one reads the environment and makes a console of its own. */
const singles = new WeakMap<Observability['metrics'], Metrics>();

/** With the stage's monitoring off, Powertools itself writes none. */
function isWanted(name: MetricName): boolean {
  return process.env['MONITORING'] !== 'critical' || METRICS[name].idle !== 'full';
}
