import { CloudWatchClient, type GetMetricDataCommandInput } from '@aws-sdk/client-cloudwatch';
import { describe, expect, it } from 'vitest';
import { createCloudWatchHistory } from '../../../src/adapters/metric-history/cloudwatch-history.ts';
import { HistoryUnavailableError, type MetricReading } from '../../../src/core/operator/views/outcome-series.ts';

const READINGS: readonly MetricReading[] = [
  { metric: 'Delivered', channel: 'email', statistic: 'Sum' },
  { metric: 'ProcessingDelay', channel: 'slack', statistic: 'p99' },
];
const BUCKETS = { from: new Date('2026-03-01T10:00:00Z'), to: new Date('2026-03-02T10:00:00Z'), seconds: 900 };
const AT = new Date('2026-03-02T09:45:00Z');

/** CloudWatch's client with answers of a function in place of the network. */
function client(answer: (input: GetMetricDataCommandInput) => object) {
  const asked: GetMetricDataCommandInput[] = [];
  const cloudWatch = new CloudWatchClient({ region: 'us-east-1' });
  cloudWatch.middlewareStack.add(
    () => async (args) => {
      const input = args.input as GetMetricDataCommandInput;
      asked.push(input);
      return { output: { $metadata: {}, ...answer(input) } as never, response: {} };
    },
    { step: 'initialize' },
  );
  return { cloudWatch, asked };
}

describe('metrics of a stack', () => {
  it('are asked by the dimensions that the functions emit, and answered in the order of the readings', async () => {
    const { cloudWatch, asked } = client(({ NextToken }) =>
      NextToken === undefined
        ? { NextToken: 'more', MetricDataResults: [{ Id: 'm1', Timestamps: [AT], Values: [7] }] }
        : { MetricDataResults: [{ Id: 'm0', Timestamps: [AT], Values: [3] }] },
    );
    const history = createCloudWatchHistory('notification-retry/dev', cloudWatch, () => new Date());
    const at = AT.toISOString();
    expect(await history.read(READINGS, BUCKETS)).toEqual([[{ at, value: 3 }], [{ at, value: 7 }]]);
    expect(asked[0]?.MetricDataQueries?.[1]?.MetricStat).toEqual({
      Metric: {
        Namespace: 'notification-retry/dev',
        MetricName: 'ProcessingDelay',
        Dimensions: [
          { Name: 'service', Value: 'send-slack' },
          { Name: 'channel', Value: 'slack' },
        ],
      },
      Period: 900,
      Stat: 'p99',
    });
  });

  it('are asked at most once a minute, however often pages ask', async () => {
    const { cloudWatch, asked } = client(() => ({ MetricDataResults: [] }));
    let now = 1_000_000;
    const history = createCloudWatchHistory('n', cloudWatch, () => new Date(now));
    await Promise.all([history.read(READINGS, BUCKETS), history.read(READINGS, BUCKETS)]);
    now += 59_000;
    await history.read(READINGS, BUCKETS);
    expect(asked).toHaveLength(1);
    now += 2_000;
    await history.read(READINGS, BUCKETS);
    expect(asked).toHaveLength(2);
  });

  it('say what is missing when CloudWatch refuses, and ask again the next time', async () => {
    let denied = true;
    const { cloudWatch } = client(() => {
      if (denied) throw Object.assign(new Error('not authorized'), { name: 'AccessDenied' });
      return { MetricDataResults: [] };
    });
    const history = createCloudWatchHistory('n', cloudWatch, () => new Date(0));
    const refused = await history.read(READINGS, BUCKETS).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(HistoryUnavailableError);
    expect(refused).toMatchObject({ remedy: expect.stringContaining('cloudwatch:GetMetricData') });
    denied = false;
    expect(await history.read(READINGS, BUCKETS)).toEqual([[], []]);
  });
});

describe('the alarms that ring', () => {
  const arn = (name: string) => `arn:aws:cloudwatch:eu-west-1:123456789012:alarm:${name}`;
  const alarm = (AlarmName: string, AlarmDescription: string) => ({
    ...{ AlarmName, AlarmDescription, AlarmArn: arn(AlarmName), StateTransitionedTimestamp: AT },
  });

  it('are those of the stage, not of a stage whose name begins alike, with their page', async () => {
    const { cloudWatch, asked } = client((input) =>
      'AlarmNamePrefix' in input
        ? {
            MetricAlarms: [
              alarm(
                'notification-retry-dev-dead-letters-growing-slack',
                '[critical] Notifications of slack are given up. What to do: docs/runbook.md#dead-letters-growing',
              ),
              alarm('notification-retry-dev-2-oldest-due', '[critical] Late. What to do: docs/runbook.md#oldest-due'),
              alarm('notification-retry-dev-of-a-team', 'theirs'),
            ],
          }
        : {},
    );
    const history = createCloudWatchHistory('notification-retry/dev', cloudWatch, () => new Date());
    expect(await history.ringing?.()).toEqual([
      {
        name: 'dead-letters-growing-slack',
        severity: 'critical',
        meaning: 'Notifications of slack are given up',
        since: AT.toISOString(),
        url: 'https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#alarmsV2:alarm/notification-retry-dev-dead-letters-growing-slack',
      },
    ]);
    expect(asked).toEqual([{ AlarmNamePrefix: 'notification-retry-dev-', StateValue: 'ALARM' }]);
  });

  it('name the right that is missing', async () => {
    const { cloudWatch } = client(() => {
      throw Object.assign(new Error('not authorized'), { name: 'AccessDenied' });
    });
    const refused = await createCloudWatchHistory('n/s', cloudWatch, () => AT)
      .ringing?.()
      .catch((error) => error);
    expect(refused).toMatchObject({ remedy: expect.stringContaining('cloudwatch:DescribeAlarms') });
  });
});
