import {
  CloudWatchClient,
  DescribeAlarmsCommand,
  type DescribeAlarmsCommandOutput,
  GetMetricDataCommand,
  type GetMetricDataCommandOutput,
  type MetricAlarm,
} from '@aws-sdk/client-cloudwatch';
import { dimensionsOf } from '../../core/model/metrics.ts';
import type { Clock } from '../../core/model/time.ts';
import {
  type Buckets,
  HistoryUnavailableError,
  type MetricHistory,
  type MetricReading,
  type Point,
  type RingingAlarm,
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

    ringing: () => ringing(client, `${namespace.replace('/', '-')}-`),
  };
}

/** Those of the alarm table (lib/constructs/monitoring/alarm-catalogue.ts), by what it writes into their description. */
const DESCRIPTION = /^\[(critical|warning)\] (.+)\. What to do: \S*#([\w-]+)$/s;

async function ringing(client: CloudWatchClient, prefix: string): Promise<RingingAlarm[]> {
  const found: RingingAlarm[] = [];
  let NextToken: string | undefined;
  do {
    const asked = {
      AlarmNamePrefix: prefix,
      StateValue: 'ALARM' as const,
      ...(NextToken !== undefined && { NextToken }),
    };
    const command = new DescribeAlarmsCommand(asked);
    const answer: DescribeAlarmsCommandOutput = await send('DescribeAlarms', () => client.send(command));
    found.push(...(answer.MetricAlarms ?? []).flatMap((alarm) => ringingAlarm(alarm, prefix) ?? []));
    NextToken = answer.NextToken;
  } while (NextToken !== undefined);
  return found;
}

function ringingAlarm(alarm: MetricAlarm, prefix: string): RingingAlarm | undefined {
  const {
    AlarmName = '',
    AlarmArn = '',
    AlarmDescription = '',
    StateTransitionedTimestamp,
    StateUpdatedTimestamp,
  } = alarm;
  const name = AlarmName.slice(prefix.length);
  const [, severity, meaning = '', section = ''] = DESCRIPTION.exec(AlarmDescription) ?? [];
  // The prefix of stage `dev` is that of `dev-2`, too.
  if (severity === undefined || !name.startsWith(section)) return undefined;
  const since = StateTransitionedTimestamp ?? StateUpdatedTimestamp ?? new Date();
  return {
    name,
    severity: severity === 'critical' ? 'critical' : 'warning',
    meaning,
    since: since.toISOString(),
    url: pageOf(AlarmArn, AlarmName),
  };
}

const CONSOLES: Readonly<Record<string, string>> = {
  'aws-cn': 'console.amazonaws.cn',
  'aws-us-gov': 'console.amazonaws-us-gov.com',
};

function pageOf(arn: string, name: string): string {
  const [, partition = '', , region = ''] = arn.split(':');
  const host = CONSOLES[partition] ?? 'console.aws.amazon.com';
  return `https://${region}.${host}/cloudwatch/home?region=${region}#alarmsV2:alarm/${encodeURIComponent(name)}`;
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
    const command = new GetMetricDataCommand({
      MetricDataQueries,
      StartTime: from,
      EndTime: to,
      ScanBy: 'TimestampAscending',
      ...(NextToken !== undefined && { NextToken }),
    });
    const answer: GetMetricDataCommandOutput = await send('GetMetricData', () => client.send(command));
    for (const { Id, Timestamps = [], Values = [] } of answer.MetricDataResults ?? []) {
      const of = Timestamps.map((at, n) => ({ at: at.toISOString(), value: Values[n] ?? 0 }));
      points[Number(Id?.slice(1))]?.push(...of);
    }
    NextToken = answer.NextToken;
  } while (NextToken !== undefined);
  return points;
}

async function send<A>(action: string, call: () => Promise<A>): Promise<A> {
  try {
    return await call();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.name : 'an unknown error';
    throw new HistoryUnavailableError(
      `CloudWatch did not answer (${reason}).`,
      `Whoever serves the console needs the right cloudwatch:${action}. If it has the right, wait a minute.`,
      { cause },
    );
  }
}
