import { describe, expect, it } from 'vitest';
import {
  type Buckets,
  type MetricReading,
  outcomeSeries,
  type Point,
  type SeriesName,
} from '../../../../src/core/operator/views/outcome-series.ts';

const NOW = new Date('2026-03-02T10:07:00.000Z');
const TEN = '2026-03-02T10:00:00.000Z';
const EARLIER = '2026-03-02T09:45:00.000Z';

/** What was measured, by `metric channel statistic`. */
async function seriesOf(measured: Readonly<Record<string, readonly (readonly [string, number])[]>>) {
  const asked: { readings: readonly MetricReading[]; buckets: Buckets }[] = [];
  const series = await outcomeSeries(
    {
      async read(readings, buckets) {
        asked.push({ readings, buckets });
        return readings.map(({ metric, channel, statistic }) =>
          (measured[`${metric} ${channel} ${statistic}`] ?? []).map(([at, value]): Point => ({ at, value })),
        );
      },
    },
    NOW,
  );
  const of = (name: SeriesName) => series.find((one) => one.name === name)?.points ?? [];
  return { asked, of };
}

describe('the series of the last day', () => {
  it('add up all channels, and what failed is what was not delivered', async () => {
    const { of } = await seriesOf({
      'Attempts email Sum': [[TEN, 10]],
      'Attempts slack Sum': [
        [EARLIER, 4],
        [TEN, 5],
      ],
      'Delivered email Sum': [[TEN, 7]],
      'Delivered slack Sum': [[TEN, 5]],
    });
    expect(of('delivered').slice(-2)).toEqual([
      { at: EARLIER, value: 0 },
      { at: TEN, value: 12 },
    ]);
    expect(of('failed').slice(-2)).toEqual([
      { at: EARLIER, value: 4 },
      { at: TEN, value: 3 },
    ]);
  });

  it('weigh the delay by attempts, and take the slowest channel for the percentile', async () => {
    const { of } = await seriesOf({
      'ProcessingDelay email Sum': [[TEN, 90]],
      'ProcessingDelay email SampleCount': [[TEN, 9]],
      'ProcessingDelay slack Sum': [[TEN, 110]],
      'ProcessingDelay slack SampleCount': [[TEN, 1]],
      'ProcessingDelay email p99': [[TEN, 12]],
      'ProcessingDelay slack p99': [[TEN, 110]],
    });
    expect(of('delay_seconds')).toEqual([{ at: TEN, value: 20 }]);
    expect(of('delay_p99_seconds')).toEqual([{ at: TEN, value: 110 }]);
  });

  it('count the outcomes that were told once, though they are of no channel, and say how late the latest was', async () => {
    const { of } = await seriesOf({
      'OutcomesTold email Sum': [[TEN, 12]],
      'OutcomesLag email Maximum': [[TEN, 3.5]],
      'OutcomesTold slack Sum': [[TEN, 12]],
    });
    expect(of('outcomes').at(-1)).toEqual({ at: TEN, value: 12 });
    expect(of('outcomes_lag_seconds')).toEqual([{ at: TEN, value: 3.5 }]);
  });

  it('have a value for each quarter of the day once something was counted, so that silence is not drawn as work', async () => {
    const { of, asked } = await seriesOf({ 'Delivered webhook Sum': [[TEN, 1]] });
    expect(of('delivered')).toHaveLength(96);
    expect(of('delivered').filter(({ value }) => value > 0)).toEqual([{ at: TEN, value: 1 }]);
    expect(asked[0]?.buckets).toEqual({ from: new Date('2026-03-01T10:15:00.000Z'), to: NOW, seconds: 900 });
  });

  it('are empty without any measurement', async () => {
    const { of } = await seriesOf({});
    expect([of('delivered'), of('failed'), of('dead'), of('delay_seconds')]).toEqual([[], [], [], []]);
  });

  it('are read with one question, and each reading once, because CloudWatch bills them', async () => {
    const { asked } = await seriesOf({});
    const keys = asked.flatMap(({ readings }) => readings.map((reading) => JSON.stringify(reading)));
    expect([asked.length, keys.length]).toEqual([1, new Set(keys).size]);
    // Six statistics of every channel, and two that are of no channel.
    expect(keys).toHaveLength(6 * 4 + 2);
  });
});
