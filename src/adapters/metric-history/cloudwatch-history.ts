import { CloudWatchClient, GetMetricDataCommand, type GetMetricDataCommandOutput } from '@aws-sdk/client-cloudwatch';
import { dimensionsOf } from '../../core/model/metrics.ts';
import type { Clock } from '../../core/model/time.ts';
import {
  type Buckets,
  HistoryUnavailableError,
  type MetricHistory,
  type MetricReading,
  type Point,
} from '../../core/operator/views/outcome-series.ts';

/** CloudWatch bills each metric that is read, and its newest points are a minute old anyway. */
const KEPT_MS = 60_000;

/** MetricHistory on CloudWatch: one request per page of answers, at most once per minute and instance. */
export function createCloudWatchHistory(namespace: string, client: CloudWatchClient, clock: Clock): MetricHistory {
  let last: { readonly key: string; readonly at: number; readonly points: Promise<readonly Point[][]> } | undefined;
  return {
    read(readings, buckets) {
      const key = JSON.stringify(readings);
      const now = clock().getTime();
      if (last !== undefined && last.key === key && now - last.at < KEPT_MS) return last.points;
      const points = readAll(client, namespace, readings, buckets);
      const asked = { key, at: now, points };
      last = asked;
      // A refusal is not kept: the next one asks anew.
      points.catch(() => {
        if (last === asked) last = undefined;
      });
      return points;
    },
  };
}

/** Waits briefly, because the page waits for it: without these figures the overview still says what is wrong. */
export function openMetricHistory(namespace: string): MetricHistory {
  const requestHandler = { connectionTimeout: 1_000, requestTimeout: 2_000 };
  return createCloudWatchHistory(namespace, new CloudWatchClient({ maxAttempts: 2, requestHandler }), () => new Date());
}

async function readAll(
  client: CloudWatchClient,
  namespace: string,
  readings: readonly MetricReading[],
  { from, to, seconds }: Buckets,
): Promise<Point[][]> {
  const points: Point[][] = readings.map(() => []);
  const MetricDataQueries = readings.map(({ metric, channel, statistic }, i) => ({
    Id: `m${i}`,
    MetricStat: {
      Metric: {
        Namespace: namespace,
        MetricName: metric,
        Dimensions: Object.entries(dimensionsOf(metric, channel)).map(([Name, Value]) => ({ Name, Value })),
      },
      Period: seconds,
      Stat: statistic,
    },
  }));
  let NextToken: string | undefined;
  do {
    const answer: GetMetricDataCommandOutput = await send(client, {
      MetricDataQueries,
      StartTime: from,
      EndTime: to,
      ScanBy: 'TimestampAscending',
      ...(NextToken !== undefined && { NextToken }),
    });
    for (const { Id, Timestamps = [], Values = [] } of answer.MetricDataResults ?? []) {
      const of = Timestamps.map((at, n) => ({ at: at.toISOString(), value: Values[n] ?? 0 }));
      points[Number(Id?.slice(1))]?.push(...of);
    }
    NextToken = answer.NextToken;
  } while (NextToken !== undefined);
  return points;
}

async function send(
  client: CloudWatchClient,
  input: ConstructorParameters<typeof GetMetricDataCommand>[0],
): Promise<GetMetricDataCommandOutput> {
  try {
    return await client.send(new GetMetricDataCommand(input));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.name : 'an unknown error';
    throw new HistoryUnavailableError(
      `CloudWatch did not answer (${reason}).`,
      'Whoever serves the console needs the right cloudwatch:GetMetricData. If it has the right, wait a minute.',
      { cause },
    );
  }
}
