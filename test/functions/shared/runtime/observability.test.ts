import type { Context } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { Logger } from '../../../../functions/shared/runtime/logger.ts';
import { Metrics } from '../../../../functions/shared/runtime/metrics.ts';
import { count, countBy, withObservability } from '../../../../functions/shared/runtime/observability.ts';
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
    const emitted = await emittedBy('service', {}, (observability) =>
      withObservability(async () => {}, observability)({}, CONTEXT),
    );
    expect(emitted).toEqual([]);
  });

  it('writes a metric with its hundredth value, of which a line holds no more', async () => {
    const emitted = await emittedBy('service', {}, async ({ metrics }) => {
      for (let value = 0; value < 101; value++) count(metrics, 'SendDuration', value);
    });
    expect(emitted.map(({ values }) => values.length)).toEqual([100, 1]);
  });

  it('writes nothing where the stage has no metrics', () => {
    const stdout = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    for (const disabled of ['true', 'false']) {
      vi.stubEnv('POWERTOOLS_METRICS_DISABLED', disabled);
      new Metrics({ namespace: disabled }).publish('Sweeps', 'Count', 1, {});
    }
    vi.unstubAllEnvs();
    const written = stdout.mock.calls.map(([line]) => JSON.parse(String(line))._aws.CloudWatchMetrics[0].Namespace);
    stdout.mockRestore();
    expect(written).toEqual(['false']);
  });
});

describe('a log line', () => {
  function linesOf(run: (logger: Logger) => unknown, logLevel?: 'WARN') {
    const lines: string[] = [];
    run(new Logger({ ...(logLevel && { logLevel }), write: (line) => void lines.push(line) }));
    return lines.map((line) => JSON.parse(line));
  }

  it('has the ids of the invocation, what every line has, and its own fields but empty ones', async () => {
    vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'send-email');
    vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-5759e988-bd862e3f;Parent=5;Sampled=0');
    const lines = linesOf((logger) => {
      logger.appendPersistentKeys({ channel: 'email' });
      for (const awsRequestId of ['r1', 'r2']) {
        logger.addContext({ ...CONTEXT, awsRequestId });
        logger.info('attempt', { log_id: 'a', attempt: 0, at: new Date(0), code: '', held: null, dropped: undefined });
      }
    });
    vi.unstubAllEnvs();
    const [first] = lines;
    expect(first).toEqual({
      ...{ level: 'INFO', message: 'attempt', timestamp: expect.stringMatching(/^\d{4}-.*Z$/), service: 'send-email' },
      ...{ cold_start: true, function_name: 'f', function_request_id: 'r1', xray_trace_id: '1-5759e988-bd862e3f' },
      ...{ channel: 'email', log_id: 'a', attempt: 0, at: '1970-01-01T00:00:00.000Z' },
    });
    expect(lines[1]).toMatchObject({ cold_start: false, function_request_id: 'r2' });
  });

  it('says of an error its name, words, stack, cause and fields, and survives what JSON cannot say', () => {
    const cause = new RangeError('deep');
    const error = Object.assign(new Error('no', { cause }), { code: 'E', size: 2n ** 64n });
    cause.cause = error;
    const [line] = linesOf((logger) => logger.error('failed', { error, other: [cause] }));
    expect(line.error).toMatchObject({ name: 'Error', message: 'no', code: 'E', size: '18446744073709551616' });
    expect(line.error.stack).toContain('observability.test');
    expect(line.error.cause).toEqual({ name: 'RangeError', message: 'deep', stack: expect.any(String) });
    expect(line.other).toMatchObject([{ message: 'deep', cause: { message: 'no' } }]);
  });

  it('is left out below the level of the stage, and keeps its own names', () => {
    const lines = linesOf((logger) => {
      logger.info('quiet');
      logger.warn('loud', JSON.parse('{"message":"forged","level":"INFO","service":"other"}'));
    }, 'WARN');
    expect(lines).toMatchObject([{ level: 'WARN', message: 'loud' }]);
    expect(lines[0].service).not.toBe('other');
  });
});
