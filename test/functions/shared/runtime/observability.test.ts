import type { Context } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { countBy, withObservability } from '../../../../functions/shared/runtime/observability.ts';
import { emittedBy } from '../../../support/emf.ts';

const CONTEXT = { functionName: 'f', awsRequestId: 'r' } as Context;

describe('the middleware of every function', () => {
  it('publishes what was counted, also when the function throws', async () => {
    for (const fails of [false, true]) {
      const emitted = await emittedBy('service', {}, async (observability) => {
        const handler = withObservability(async () => {
          observability.metrics.addMetric('Sweeps', 'Count', 1);
          if (fails) throw new Error('no');
        }, observability);
        await Promise.resolve(handler({}, CONTEXT)).catch(() => {});
        expect(observability.metrics.hasStoredMetrics()).toBe(false);
      });
      expect(emitted).toMatchObject([{ name: 'Sweeps', values: [1] }]);
    }
  });

  it('writes each metric with dimensions of its own, and none of those before it', async () => {
    const emitted = await emittedBy('service', {}, async ({ metrics }) => {
      metrics.setDefaultDimensions({ channel: 'email' });
      countBy(metrics, 'FailedAttempts', { error_type: 'UNKNOWN' }, 2);
      countBy(metrics, 'GivenUp', {});
    });
    const shared = { service: 'service', channel: 'email' };
    expect(emitted).toMatchObject([
      { name: 'FailedAttempts', values: [2] },
      { name: 'GivenUp', values: [1] },
    ]);
    expect(emitted.map(({ dimensions }) => dimensions)).toEqual([{ ...shared, error_type: 'UNKNOWN' }, shared]);
  });

  it('says nothing when there is nothing to count', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const emitted = await emittedBy('service', {}, async (observability) => {
      await withObservability(async () => {}, observability)({}, CONTEXT);
      expect(warn).not.toHaveBeenCalled();
    });
    expect(emitted).toEqual([]);
    warn.mockRestore();
  });
});
