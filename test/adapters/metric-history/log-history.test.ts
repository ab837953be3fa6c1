import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { describe, expect, it } from 'vitest';
import { count } from '../../../functions/shared/runtime/observability.ts';
import { createLogHistory } from '../../../src/adapters/metric-history/log-history.ts';
import type { MetricName } from '../../../src/core/model/metrics.ts';
import type { MetricReading } from '../../../src/core/operator/views/outcome-series.ts';

/** What a function writes to its log for one invocation. */
function line(service: string, channel: string, ...values: readonly (readonly [MetricName, number])[]): string {
  const metrics = new Metrics({ namespace: 'test', serviceName: service, defaultDimensions: { channel } });
  for (const [name, value] of values) count(metrics, name, value);
  return `${JSON.stringify(metrics.serializeMetrics())}\n`;
}

const email = (metric: MetricName, statistic: MetricReading['statistic']): MetricReading => ({
  metric,
  channel: 'email',
  statistic,
});
const SUM = email('Delivered', 'Sum');

function lastHour() {
  const to = new Date(Date.now() + 1_000);
  return { from: new Date(Math.floor(to.getTime() / 3_600_000) * 3_600_000 - 3_600_000), to, seconds: 3_600 };
}

describe('metrics of the local runtime', () => {
  const start = () => {
    const logs = mkdtempSync(join(tmpdir(), 'metrics-'));
    const history = createLogHistory(logs);
    const values = async (...readings: readonly MetricReading[]) => {
      const points = await history.read(readings, lastHour());
      return points.map((of) => of.reduce((sum, { value }) => sum + value, 0));
    };
    return { log: join(logs, 'send-email.log'), logs, values };
  };

  it('are read from the lines that CloudWatch takes out of a log, by service and channel', async () => {
    const { log, logs, values } = start();
    const delays = [1, 2, 9].map((delay) => ['ProcessingDelay', delay] as const);
    writeFileSync(
      log,
      `{"level":"INFO"}\n${line('send-email', 'email', ['Delivered', 4], ...delays)}no JSON {"_aws"\n`,
    );
    writeFileSync(join(logs, 'send-slack.log'), line('send-slack', 'slack', ['Delivered', 100]));
    const delay = email('ProcessingDelay', 'Sum');
    expect(await values(SUM, delay, { ...delay, statistic: 'SampleCount' }, { ...delay, statistic: 'p99' })).toEqual([
      4, 12, 3, 9,
    ]);
  });

  it('count each line once, also one that was half written at the time of a read', async () => {
    const { log, values } = start();
    const whole = line('send-email', 'email', ['Delivered', 1]);
    writeFileSync(log, whole + whole.slice(0, 40));
    expect(await values(SUM)).toEqual([1]);
    appendFileSync(log, whole.slice(40));
    expect(await values(SUM)).toEqual([2]);
    expect(await Promise.all([values(SUM), values(SUM)])).toEqual([[2], [2]]);
  });

  it('leave out what was measured before the period', async () => {
    const { log, values } = start();
    const old = line('send-email', 'email', ['Delivered', 1]).replace(/"Timestamp":\d+/, '"Timestamp":1700000000000');
    writeFileSync(log, old + line('send-email', 'email', ['Delivered', 2]));
    expect(await values(SUM)).toEqual([2]);
  });

  it('are none without logs', async () => {
    expect(await createLogHistory('/nowhere').read([SUM], lastHour())).toEqual([[]]);
  });
});
