import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { dimensionsOf } from '../../core/model/metrics.ts';
import type { Buckets, MetricHistory, MetricReading, Point } from '../../core/operator/views/outcome-series.ts';

/** Of a log that is longer, the end is read. */
const MOST_BYTES = 32 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const KEPT_MS = 25 * 3_600_000;

/** A line in CloudWatch's embedded metric format, as Powertools writes it. */
const metricLine = v.pipe(
  v.string(),
  v.parseJson(),
  v.looseObject({
    _aws: v.object({
      Timestamp: v.number(),
      CloudWatchMetrics: v.array(v.object({ Metrics: v.array(v.object({ Name: v.string() })) })),
    }),
    service: v.string(),
    channel: v.optional(v.string()),
  }),
);

interface Measured {
  readonly at: number;
  readonly value: number;
}

/**
 * MetricHistory of the local runtime, which has no CloudWatch: from the lines that CloudWatch would take out of the
 * functions' logs. Each call reads what was added since the one before.
 * @param directory of the functions' logs
 */
export function createLogHistory(directory: string): MetricHistory {
  const read = new Map<string, number>();
  const measured = new Map<string, Measured[]>();
  let turn: Promise<void> = Promise.resolve();
  return {
    async read(readings, buckets) {
      // Two readers at once would count the same lines twice.
      turn = turn.catch(() => {}).then(() => readNew(directory, read, measured));
      await turn;
      forget(measured, buckets.to.getTime() - KEPT_MS);
      return readings.map((reading) => pointsOf(measured.get(keyOf(reading)) ?? [], reading.statistic, buckets));
    },
  };
}

async function readNew(directory: string, read: Map<string, number>, measured: Map<string, Measured[]>): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter((one) => /^(send-\w+|monitor|outcomes)\.log$/.test(one))) {
    read.set(name, await readFrom(join(directory, name), read.get(name), (line) => take(line, measured)));
  }
}

/** @returns the place after the last whole line */
async function readFrom(path: string, from: number | undefined, take: (line: string) => void): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    // A new runtime begins its logs anew.
    let place = from === undefined || from > size ? Math.max(0, size - MOST_BYTES) : from;
    let rest = Buffer.alloc(0);
    while (place + rest.length < size) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, place + rest.length);
      if (bytesRead === 0) break;
      const text = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = text.lastIndexOf(0x0a) + 1;
      for (const line of text.subarray(0, end).toString('utf8').split('\n')) take(line);
      place += end;
      rest = text.subarray(end);
    }
    return place;
  } finally {
    await file.close();
  }
}

function take(line: string, measured: Map<string, Measured[]>): void {
  if (!line.startsWith('{"_aws"')) return;
  const parsed = v.safeParse(metricLine, line);
  if (!parsed.success) return;
  const { _aws, service, channel, ...fields } = parsed.output;
  for (const { Name } of _aws.CloudWatchMetrics.flatMap(({ Metrics }) => Metrics)) {
    const values = [fields[Name]].flat().filter((value) => typeof value === 'number');
    const key = `${Name} ${service} ${channel ?? ''}`;
    const list = measured.get(key) ?? [];
    measured.set(key, list);
    for (const value of values) list.push({ at: _aws.Timestamp, value });
  }
}

function keyOf({ metric, channel }: MetricReading): string {
  const { service = '', channel: by = '' } = dimensionsOf(metric, channel);
  return `${metric} ${service} ${by}`;
}

function forget(measured: Map<string, Measured[]>, before: number): void {
  for (const [key, list] of measured) {
    const first = list.findIndex(({ at }) => at >= before);
    if (first !== 0) measured.set(key, first < 0 ? [] : list.slice(first));
  }
}

function pointsOf(list: readonly Measured[], statistic: MetricReading['statistic'], buckets: Buckets): Point[] {
  const [from, to, length] = [buckets.from.getTime(), buckets.to.getTime(), buckets.seconds * 1000];
  const inTime = list.filter(({ at }) => at >= from && at < to);
  const byBucket = Map.groupBy(inTime, ({ at }) => from + Math.floor((at - from) / length) * length);
  return [...byBucket]
    .sort(([a], [b]) => a - b)
    .map(([at, of]) => ({
      at: new Date(at).toISOString(),
      value: STATISTICS[statistic](of.map(({ value }) => value)),
    }));
}

const STATISTICS: Readonly<Record<MetricReading['statistic'], (values: readonly number[]) => number>> = {
  Sum: (values) => values.reduce((sum, value) => sum + value, 0),
  SampleCount: (values) => values.length,
  Maximum: (values) => values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY),
  p99: (values) => values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0,
};
