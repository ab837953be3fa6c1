import type { Template } from 'aws-cdk-lib/assertions';
import { resourcesOf } from './synthesize.ts';

/** A metric that an alarm or a widget reads. A dimension of a search expression has the value `*`. */
export interface Reading {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
}

interface MetricJson {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
}

export interface AlarmJson extends Partial<MetricJson> {
  readonly AlarmName: string;
  readonly AlarmDescription: string;
  readonly Threshold: number;
  readonly EvaluationPeriods: number;
  readonly ComparisonOperator: string;
  readonly TreatMissingData: string;
  readonly Metrics?: readonly {
    readonly Id?: string;
    readonly Expression?: string;
    readonly MetricStat?: { readonly Metric: MetricJson };
  }[];
}

export interface AlarmView {
  readonly name: string;
  readonly description: string;
  readonly severity: string;
  /** Section of the runbook. */
  readonly section: string;
  readonly properties: AlarmJson;
}

export function alarmsOf(template: Template): AlarmView[] {
  return resourcesOf(template, 'AWS::CloudWatch::Alarm').map((resource) => {
    const properties = resource.properties as unknown as AlarmJson;
    const { AlarmName: name, AlarmDescription: description } = properties;
    const [, severity = '', section = ''] = /^\[(\w+)\].*#([a-z-]+)$/.exec(description) ?? [];
    return { name, description, severity, section, properties };
  });
}

export function readingsOfAlarm({ properties }: AlarmView): Reading[] {
  const { Namespace, MetricName, Dimensions = [], Metrics = [] } = properties;
  const inMath = Metrics.flatMap(({ MetricStat }) => (MetricStat ? [readingOf(MetricStat.Metric)] : []));
  return Namespace && MetricName ? [readingOf({ Namespace, MetricName, Dimensions }), ...inMath] : inMath;
}

function readingOf({ Namespace, MetricName, Dimensions = [] }: MetricJson): Reading {
  const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value]));
  return { namespace: Namespace, name: MetricName, dimensions };
}

export interface Widget {
  readonly type: string;
  readonly y: number;
  readonly properties: Readonly<Record<string, unknown>>;
}

export function dashboardOf(template: Template): { readonly widgets: readonly Widget[] } {
  const [dashboard] = resourcesOf(template, 'AWS::CloudWatch::Dashboard');
  const body: unknown = dashboard?.properties['DashboardBody'];
  const parts: unknown = typeof body === 'string' ? [body] : Object(body)['Fn::Join'][1];
  if (!Array.isArray(parts)) throw new Error('the dashboard has no body');
  return JSON.parse(parts.map((part) => (typeof part === 'string' ? part : 'reference')).join(''));
}

export function readingsOfDashboard(template: Template): Reading[] {
  const entries = dashboardOf(template).widgets.flatMap(({ properties }) => {
    const { metrics } = properties;
    return Array.isArray(metrics) ? (metrics as unknown[][]) : [];
  });
  return entries.flatMap((entry) => {
    const [first] = entry;
    if (typeof first === 'string') return [graphed(entry.filter((part) => typeof part === 'string'))];
    return searched(String(Object(first)['expression']));
  });
}

/** `[namespace, name, dimension, value, …]` */
function graphed([namespace = '', name = '', ...rest]: readonly string[]): Reading {
  const dimensions: Record<string, string> = {};
  for (let i = 0; i + 1 < rest.length; i += 2) dimensions[rest[i] ?? ''] = rest[i + 1] ?? '';
  return { namespace, name, dimensions };
}

/** `SEARCH('{"namespace",dimension,…} … MetricName="name"', …)`. Other expressions read the metrics listed beside them. */
function searched(expression: string): Reading[] {
  const [, namespace, names, name] = /\{"([^"]+)",([^}]+)\}.*MetricName="(\w+)"/.exec(expression) ?? [];
  if (namespace === undefined || names === undefined || name === undefined) return [];
  const dimensions = Object.fromEntries(names.split(',').map((dimension) => [dimension, '*']));
  return [{ namespace, name, dimensions }];
}

/** Points that CloudWatch retrieves beside those that an alarm evaluates. */
const BESIDE = 3;

/**
 * Whether an alarm rings, as CloudWatch evaluates it ("Evaluating an alarm", missing data): of the points in a range that
 * is longer than the evaluation periods, the newest real ones count; only where these are too few, missing ones do.
 * @param pointsOf the metrics by their ids, this number of periods ago; a metric without a value is left out
 */
export function isRinging(
  { Metrics = [], EvaluationPeriods, Threshold, ComparisonOperator, TreatMissingData }: AlarmJson,
  pointsOf: (ago: number) => Readonly<Record<string, number>>,
): boolean {
  const expression = Metrics.find((metric) => metric.Expression !== undefined)?.Expression ?? '';
  const range = Array.from({ length: EvaluationPeriods + BESIDE }, (_, ago) => pointsOf(ago));
  const known = new Set(range.flatMap((points) => Object.keys(points)));
  const real = range
    .map((points) => computed(expression, points, known))
    .filter((value) => value !== undefined)
    .slice(0, EvaluationPeriods);
  const isBreaching = (value: number) =>
    ComparisonOperator === 'LessThanThreshold' ? value < Threshold : value > Threshold;
  const missing = EvaluationPeriods - real.length;
  return real.every(isBreaching) && (missing === 0 || TreatMissingData === 'breaching');
}

/**
 * A metric-math expression of FILL, MAX and SUM; undefined where a metric without a value is not filled: nothing is where
 * none of these has a point in the whole range.
 */
function computed(
  expression: string,
  points: Readonly<Record<string, number>>,
  known: ReadonlySet<string>,
): number | undefined {
  if (known.size === 0) return undefined;
  const [, how, list = expression] = /^(MAX|SUM)\(\[(.*)\]\)$/.exec(expression) ?? [];
  const values = [...list.matchAll(/FILL\((\w+), (\d+)\)|(\w+)/g)].map(([, filled, by, bare = '']) =>
    filled === undefined ? points[bare] : (points[filled] ?? Number(by)),
  );
  if (values.some((value) => value === undefined)) return undefined;
  const numbers = values.map(Number);
  return how === 'MAX' ? Math.max(...numbers) : numbers.reduce((sum, value) => sum + value, 0);
}
