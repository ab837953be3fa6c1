import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Deployed, verifyEnv } from '../../functions/shared/runtime/console-env.ts';
import type { VerifyFunctionDeps } from '../../functions/verify/handler.ts';
import {
  type KeptVerification,
  startVerification,
  type VerificationStore,
} from '../../src/core/verify/kept-verification.ts';
import { runKept } from '../../src/core/verify/run-kept.ts';
import { dueRow } from '../support/rows.ts';
import { VerifiedTables } from '../support/verified-tables.ts';

const ENV: Omit<Deployed<typeof verifyEnv>, `EMAIL${string}`> = {
  NOTIFICATION_LOG_TABLE: 'log',
  NOTIFICATION_CONTENT_TABLE: 'content',
  NOTIFICATION_RETRY_LOG_TABLE: 'records',
  PIPELINE_STATE_TABLE: 'state',
  LANE_QUEUES: '{}',
  DEAD_LETTER_QUEUES: '{}',
};
const SCHEDULED = { source: 'aws.events', 'detail-type': 'Scheduled Event' };
const context = (awsRequestId: string, left = 900_000) => ({ awsRequestId, getRemainingTimeInMillis: () => left });

describe('the function that verifies the stage', () => {
  let createHandler: typeof import('../../functions/verify/handler.ts')['createHandler'];
  beforeAll(async () => {
    Object.assign(process.env, { AWS_REGION: 'us-east-1', POWERTOOLS_METRICS_NAMESPACE: 'test', ...ENV });
    ({ createHandler } = await import('../../functions/verify/handler.ts'));
  });

  function setUp() {
    const tables = new VerifiedTables();
    const told: Record<string, number> = {};
    const metrics = new Metrics({ namespace: 'test' });
    let stored: [string, number][] = [];
    metrics.addMetric = (name: string, _: unknown, value: number) => {
      stored.push([name, value]);
      return metrics;
    };
    metrics.hasStoredMetrics = () => stored.length > 0;
    metrics.publishStoredMetrics = () => {
      for (const [name, value] of stored) told[name] = (told[name] ?? 0) + value;
      stored = [];
      return metrics;
    };
    let latest: KeptVerification | undefined;
    const { clock, pause, onProgress: _, isStopping: __, ...ports } = tables.deps({ rate: 1e9 });
    const goneOn: number[] = [];
    const deps = {
      clock,
      pause,
      ports,
      goOn: async () => {
        goneOn.push(tables.now);
      },
      store: {
        read: async () => latest,
        async change(was, { set, remove = [] }) {
          const kept = Object.entries({ ...was, ...set }).filter(([name]) => !remove.some((one) => one === name));
          latest = { ...(Object.fromEntries(kept) as unknown as KeptVerification), version: (was?.version ?? 0) + 1 };
          return latest;
        },
      } satisfies VerificationStore as VerificationStore,
    } satisfies VerifyFunctionDeps;
    const logger = new Logger({ logLevel: 'SILENT' });
    const logged: [level: string, message: unknown][] = [];
    for (const level of ['info', 'error'] as const) logger[level] = (message) => logged.push([level, message]);
    const handler = createHandler(deps, { logger, metrics });
    return {
      tables,
      handler,
      told,
      logged,
      goneOn,
      deps,
      metrics,
      forget: () => stored.splice(0),
      latest: () => latest,
    };
  }

  it('begins by the schedule, and says how many rules are broken, none included', async () => {
    const { tables, handler, told, logged, latest } = setUp();
    tables.put({ ...dueRow() });
    await handler(SCHEDULED, context('1'));
    expect(latest()).toMatchObject({ status: 'done', started_by: 'schedule' });
    expect(told).toEqual({ Verifications: 1, VerificationViolations: 0 });
    expect(logged).toEqual([['info', 'No rule is broken']]);
    tables.put({ ...dueRow({ log_id: 'lost' }), work_queue: undefined });
    await handler(SCHEDULED, context('2'));
    expect(told).toEqual({ Verifications: 2, VerificationViolations: 1 });
    const says =
      /^Broken rules: 1, such as rule 1 by lost: .*Operations in the console, or run `npm run ops -- verify --letters`/;
    expect(logged.slice(1)).toEqual([['error', expect.stringMatching(says)]]);
  });

  describe('counts what has ended, once, though', () => {
    const broken = () => {
      const at = setUp();
      at.tables.put({ ...dueRow({ log_id: 'lost' }), work_queue: undefined });
      return at;
    };
    const counted = { Verifications: 1, VerificationViolations: 1 };

    it('the answer to its end is lost', async () => {
      const { handler, told, deps, latest } = broken();
      const { change } = deps.store;
      deps.store.change = async (was, by) => {
        const changed = await change(was, by);
        if (by.set.status === 'done') throw new Error('TimeoutError');
        return changed;
      };
      await expect(handler(SCHEDULED, context('1'))).rejects.toThrow('TimeoutError');
      expect([latest()?.status, told]).toEqual(['done', {}]);
      deps.store.change = change;
      await handler({ continued: true }, context('1'));
      await handler({ continued: true }, context('2'));
      expect(told).toEqual(counted);
    });

    it('its process dies before the counts are out', async () => {
      const { handler, told, metrics, forget } = broken();
      const { publishStoredMetrics } = metrics;
      metrics.publishStoredMetrics = () => {
        throw new Error('killed');
      };
      await expect(handler(SCHEDULED, context('1'))).rejects.toThrow('killed');
      forget();
      metrics.publishStoredMetrics = publishStoredMetrics;
      await handler({ continued: true }, context('1'));
      expect(told).toEqual(counted);
    });

    it('the console of an operator ended it, and the schedule begins the next', async () => {
      const { tables, handler, told, deps, latest } = broken();
      await startVerification('mori', { ...deps, startRun: async () => {} });
      await runKept({ ...deps, claim_id: 'console', isEnding: () => false, isOver: () => false });
      expect([latest()?.status, told]).toEqual(['done', {}]);
      tables.rows.clear();
      await handler(SCHEDULED, context('1'));
      expect(latest()).toMatchObject({ started_by: 'schedule', progress: { violated: 0 } });
      expect(told).toEqual({ Verifications: 2, VerificationViolations: 1 });
    });
  });

  it('begins nothing that nobody asked for', async () => {
    const { handler, told, latest } = setUp();
    expect(await handler({ continued: true }, context('1'))).toBe('ended');
    expect([latest(), told]).toEqual([undefined, {}]);
  });

  it('invokes itself when its time is over, and the schedule leaves alone what runs', async () => {
    const { tables, handler, told, goneOn, latest } = setUp();
    for (let i = 0; i < 40; i += 1) tables.put({ ...dueRow({ log_id: `n-${i}` }) });
    let pages = 0;
    tables.onRead = () => {
      pages += 1;
    };
    const short = { awsRequestId: '1', getRemainingTimeInMillis: () => (pages < 8 ? 900_000 : 200_000) };
    expect(await handler(SCHEDULED, short)).toBe('interrupted');
    expect([goneOn.length, told]).toEqual([1, {}]);
    const begun = latest()?.started_at;
    expect(await handler(SCHEDULED, context('2'))).toBe('ended');
    expect(latest()).toMatchObject({ status: 'done', started_at: begun, progress: { scanned: 40 } });
    expect(told).toEqual({ Verifications: 1, VerificationViolations: 0 });
  });
});
