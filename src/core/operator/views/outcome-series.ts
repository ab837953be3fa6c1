import { CHANNELS, type Channel } from '../../model/channels.ts';
import { METRICS, type MetricName } from '../../model/metrics.ts';
import { ExplainedError } from '../../model/problem.ts';

/**
 * A figure of the last day. `at` is the beginning of the bucket. A count without any measurement is 0 if there is one in
 * another bucket; what cannot be known of a bucket is left out.
 */
export interface Series {
  readonly name: SeriesName;
  readonly unit: 'notifications' | 'seconds';
  readonly points: readonly Point[];
}

/**
 * `due`, `dispatched`: of each sweep. `delivered`, `failed`: attempts by their end. `dead`: how many there were.
 * `delay_seconds`: from due to the attempt, on average; `delay_p99_seconds`: 99 of 100 attempts began sooner.
 * `outcomes`: told to producers; `outcomes_lag_seconds`: how long the latest of them had waited for that.
 */
export type SeriesName =
  | 'due'
  | 'dispatched'
  | 'dead'
  | 'waiting'
  | 'delivered'
  | 'failed'
  | 'delay_seconds'
  | 'delay_p99_seconds'
  | 'outcomes'
  | 'outcomes_lag_seconds';

export interface Point {
  readonly at: string;
  readonly value: number;
}

/** One statistic of a metric of one channel. */
export interface MetricReading {
  readonly metric: MetricName;
  readonly channel: Channel;
  readonly statistic: 'Sum' | 'SampleCount' | 'Maximum' | 'p99';
}

/** What the functions have measured, from wherever the deployment keeps it. */
export interface MetricHistory {
  /**
   * @param buckets their length in seconds, from `from` (a multiple of them) on, before `to`
   * @returns the points of each reading, in the order of the readings; a bucket without a measurement has none
   */
  read(readings: readonly MetricReading[], buckets: Buckets): Promise<readonly (readonly Point[])[]>;
  /** The alarms of the stage that ring; absent where nothing has any. @throws HistoryUnavailableError */
  ringing?(): Promise<readonly RingingAlarm[]>;
}

export interface RingingAlarm {
  /** Without the stage. */
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  readonly meaning: string;
  /** ISO-8601 UTC. */
  readonly since: string;
  /** Its page at the provider of the alarms. */
  readonly url: string;
}

export interface Buckets {
  readonly from: Date;
  readonly to: Date;
  readonly seconds: number;
}

/** The history cannot be read. The message says why, the remedy what a person does about it. */
export class HistoryUnavailableError extends ExplainedError {
  override readonly name = 'HistoryUnavailableError';
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.remedy = remedy;
  }
}

const BUCKET_SECONDS = 900;
const DAY_SECONDS = 86_400;

/** How each series is made of the metrics of the catalogue, bucket by bucket. */
const PLANS = [
  { name: 'delivered', unit: 'notifications', empty: 0, of: [['Delivered', 'Sum']], value: ([sum]) => total(sum) },
  {
    name: 'failed',
    unit: 'notifications',
    empty: 0,
    of: [
      ['Attempts', 'Sum'],
      ['Delivered', 'Sum'],
    ],
    value: ([attempts, delivered]) => Math.max(0, total(attempts) - total(delivered)),
  },
  { name: 'dead', unit: 'notifications', of: [['DeadNotifications', 'Maximum']], value: ([dead]) => total(dead) },
  {
    name: 'delay_seconds',
    unit: 'seconds',
    of: [
      ['ProcessingDelay', 'Sum'],
      ['ProcessingDelay', 'SampleCount'],
    ],
    value: ([sum, samples]) => (total(samples) === 0 ? 0 : total(sum) / total(samples)),
  },
  {
    name: 'delay_p99_seconds',
    unit: 'seconds',
    of: [['ProcessingDelay', 'p99']],
    // Percentiles of channels cannot be added up: the slowest channel is an upper bound.
    value: ([worst = []]) => Math.max(0, ...worst),
  },
  { name: 'outcomes', unit: 'notifications', empty: 0, of: [['OutcomesTold', 'Sum']], value: ([told]) => total(told) },
  {
    name: 'outcomes_lag_seconds',
    unit: 'seconds',
    of: [['OutcomesLag', 'Maximum']],
    value: ([lag = []]) => Math.max(0, ...lag),
  },
] as const satisfies readonly SeriesPlan[];

interface SeriesPlan {
  readonly name: SeriesName;
  readonly unit: Series['unit'];
  /** The value of a bucket in which nothing was measured; absent: it is not known. */
  readonly empty?: 0;
  readonly of: readonly (readonly [MetricName, MetricReading['statistic']])[];
  /** @param values per entry of `of`, those of all channels that have one */
  readonly value: (values: readonly (readonly number[])[]) => number;
}

/** What came of the attempts of the last day, how many were dead, and how late attempts were. */
export async function outcomeSeries(history: MetricHistory, now: Date): Promise<Series[]> {
  const wanted = new Map<string, MetricReading>();
  for (const { of } of PLANS) for (const reading of readingsOf(of)) wanted.set(keyOf(reading), reading);
  const buckets = lastDay(now);
  const points = await history.read([...wanted.values()], buckets);
  const found = new Map([...wanted.keys()].map((key, i) => [key, points[i] ?? []]));
  return PLANS.map((plan) => ({ name: plan.name, unit: plan.unit, points: pointsOf(plan, found, buckets) }));
}

function pointsOf(plan: SeriesPlan, found: ReadonlyMap<string, readonly Point[]>, buckets: Buckets): Point[] {
  const byTime = (points: readonly Point[] = []) => new Map(points.map(({ at, value }) => [at, value]));
  const parts = plan.of.map((one) => readingsOf([one]).map((reading) => byTime(found.get(keyOf(reading)))));
  const times = new Set(parts.flat().flatMap((channel) => [...channel.keys()]));
  if (plan.empty !== undefined && times.size > 0) for (const at of beginnings(buckets)) times.add(at);
  return [...times].sort().map((at) => ({
    at,
    value: plan.value(parts.map((channels) => channels.flatMap((channel) => channel.get(at) ?? []))),
  }));
}

function readingsOf(of: SeriesPlan['of']): MetricReading[] {
  return of.flatMap(([metric, statistic]) => {
    const { from, by } = METRICS[metric];
    // A metric without channels is one time series.
    const channels = from === 'send' || by.includes('channel') ? CHANNELS : CHANNELS.slice(0, 1);
    return channels.map((channel) => ({ metric, channel, statistic }));
  });
}

function lastDay(now: Date): Buckets {
  const bucket = BUCKET_SECONDS * 1000;
  const from = Math.ceil((now.getTime() - DAY_SECONDS * 1000) / bucket) * bucket;
  return { from: new Date(from), to: now, seconds: BUCKET_SECONDS };
}

function beginnings({ from, to, seconds }: Buckets): string[] {
  const count = Math.ceil((to.getTime() - from.getTime()) / (seconds * 1000));
  return Array.from({ length: count }, (_, i) => new Date(from.getTime() + i * seconds * 1000).toISOString());
}

const keyOf = ({ metric, channel, statistic }: MetricReading): string => `${metric} ${channel} ${statistic}`;

const total = (values: readonly number[] = []): number => values.reduce((sum, value) => sum + value, 0);
