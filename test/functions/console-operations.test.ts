import { Logger } from '@aws-lambda-powertools/logger';
import type { SQSEvent } from 'aws-lambda';
import { beforeAll, describe, expect, it } from 'vitest';
import type { OperationsDeps } from '../../functions/console-operations/handler.ts';
import type { consoleOperationsEnv, Deployed } from '../../functions/shared/runtime/console-env.ts';
import { takenOf } from '../../src/application/chosen/actions.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import type { DropReplaced, Taken } from '../../src/core/operator/dead-letters/dead-letter.ts';
import { createOperation, operate } from '../../src/core/operator/operations/operate.ts';
import { runOperation } from '../../src/core/operator/operations/run-operation.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { createMemoryOperationRows, createMemoryOperations } from '../../tools/simulation/twins/row-stores.ts';
import { deadRow } from '../support/cli/operations.ts';

const queue = 'http://localhost/queue';
const ENV: Deployed<typeof consoleOperationsEnv> = {
  NOTIFICATION_LOG_TABLE: 'log',
  NOTIFICATION_CONTENT_TABLE: 'content',
  DATA_KEYS_TABLE: 'data-keys',
  RECIPIENT_KEY_ARN: 'arn',
  PIPELINE_STATE_TABLE: 'state',
  LANE_QUEUES: JSON.stringify(Object.fromEntries(CHANNELS.map((name) => [name, { express: queue, standard: queue }]))),
  DEAD_LETTER_QUEUES: JSON.stringify(Object.fromEntries(CHANNELS.map((name) => [name, queue]))),
  RETRY_POLICY: JSON.stringify({
    base_interval_seconds: 300,
    max_retries: { urgent: 10, important: 7, normal: 5, info: 3 },
    retention_hours: { urgent: 24, important: 12, normal: 6, info: 3 },
  }),
  OPERATIONS_QUEUE: queue,
};
const messageOf = (operation_id: string) =>
  ({ Records: [{ body: JSON.stringify({ operation_id }) }] }) as unknown as SQSEvent;
const ENOUGH = { getRemainingTimeInMillis: () => 60_000 };
const OVER = { getRemainingTimeInMillis: () => 1_000 };

describe('the function of bulk operations', () => {
  let createHandler: typeof import('../../functions/console-operations/handler.ts')['createHandler'];

  beforeAll(async () => {
    Object.assign(process.env, { AWS_REGION: 'us-east-1', POWERTOOLS_METRICS_NAMESPACE: 'test', ...ENV });
    ({ createHandler } = await import('../../functions/console-operations/handler.ts'));
  });

  /** An operation on `count` dead notifications that was previewed and started. */
  async function setUp(count: number, broken: Partial<OperationsDeps> = {}) {
    let serial = 0;
    const clock = () => new Date();
    const tables = new MemoryTables(clock);
    const sent: string[] = [];
    const goneOn: (readonly [string, number])[] = [];
    const deps: OperationsDeps = {
      clock,
      newId: () => `id${++serial}-abcdef`,
      policy: DEFAULT_RETRY_POLICY,
      pause: async () => {},
      operations: createMemoryOperations(),
      candidates: createMemoryOperationRows(tables),
      rows: tables.rows,
      correct: tables.corrections.correct,
      send: async (messages) => {
        sent.push(...messages.map(({ message }) => message.log_id));
        return [];
      },
      goOn: async (operation_id, delay) => {
        goneOn.push([operation_id, delay]);
      },
    };
    for (let i = 0; i < count; i++) tables.log.set(`N${i}`, { ...deadRow(`N${i}`) });
    const request = { kind: 'redrive', filter: {}, asked: {}, rate: 100, include_stopped: false } as const;
    const operate_deps = { ...deps, startRun: async () => {} };
    const { operation_id } = await createOperation({ ...request, created_by: 'mori' }, operate_deps);
    await runOperation(operation_id, deps, () => false);
    await operate(operation_id, 'start', operate_deps);
    const handle = createHandler({ ...deps, ...broken }, { logger: new Logger({ logLevel: 'SILENT' }) });
    const stored = () => deps.operations.read(operation_id);
    return { deps, operation_id, handle, sent, goneOn, stored };
  }

  it('works on the operation of a message to its end', async () => {
    const { handle, operation_id, sent, goneOn, stored } = await setUp(3);
    await handle(messageOf(operation_id), ENOUGH);
    expect(sent.sort()).toEqual(['N0', 'N1', 'N2']);
    expect([(await stored())?.status, goneOn]).toEqual(['done', []]);
  });

  it('deletes the letters of those that somebody chose in the console', async () => {
    const dropped: Taken[] = [];
    const dropReplaced: DropReplaced = async (taken) => void dropped.push(taken);
    const { handle, goneOn } = await setUp(0, { dropReplaced });
    const letters = takenOf([deadRow('N1'), deadRow('N2')], new Date('2026-03-01T10:00:02.500Z'));
    await handle({ Records: [{ body: JSON.stringify({ letters }) }] } as unknown as SQSEvent, ENOUGH);
    const taken = { log_ids: ['N1', 'N2'], channels: ['webhook'], most: 2, cut_off: '2026-03-01T10:00:00.000Z' };
    expect([dropped, goneOn]).toEqual([[taken], []]);
  });

  it('leaves the rest to the next invocation before its time is over, which repeats nothing', async () => {
    const { handle, operation_id, sent, goneOn } = await setUp(3);
    await handle(messageOf(operation_id), OVER);
    expect([sent, goneOn]).toEqual([[], [[operation_id, 0]]]);
    await handle(messageOf(operation_id), ENOUGH);
    await handle(messageOf(operation_id), ENOUGH);
    expect(sent).toHaveLength(3);
  });

  it('leaves the operation of a duplicate to the invocation that has it, whatever fails here', async () => {
    const { deps, operation_id, stored } = await setUp(3);
    const found = await stored();
    if (found === undefined) throw new Error('it was not made');
    const claim_until = new Date(Date.now() + 15_000).toISOString();
    await deps.operations.change(found, { set: { claim_id: 'healthy', claim_until } });
    let reads = 0;
    const read = async (id: string) => {
      if (++reads === 1) throw new Error('throttled');
      return deps.operations.read(id);
    };
    const duplicate = { ...deps, operations: { ...deps.operations, read } };
    const handle = createHandler(duplicate, { logger: new Logger({ logLevel: 'SILENT' }) });
    await handle(messageOf(operation_id), ENOUGH).catch(() => {});
    expect(await stored()).toMatchObject({ status: 'running', claim_id: 'healthy' });
  });

  it('looks again later while another invocation works on it', async () => {
    const { deps, handle, operation_id, sent, goneOn, stored } = await setUp(3);
    const operation = await stored();
    if (operation === undefined) throw new Error('no operation');
    const claim_until = new Date(Date.now() + 10_000).toISOString();
    await deps.operations.change(operation, { set: { claim_id: 'other', claim_until } });
    await handle(messageOf(operation_id), ENOUGH);
    expect([sent, goneOn]).toEqual([[], [[operation_id, expect.any(Number)]]]);
    expect(goneOn[0]?.[1]).toBeGreaterThan(10);
  });

  it('keeps what stopped it, without its details, so that a person can resume it', async () => {
    const failing = {
      send: async () => {
        throw Object.assign(new Error('queue of a@example.com'), { name: 'QueueDoesNotExist' });
      },
    };
    const { deps, handle, operation_id, sent, stored } = await setUp(3, failing);
    await handle(messageOf(operation_id), ENOUGH);
    const failed = await stored();
    expect([failed?.status, failed?.error]).toEqual(['failed', expect.stringContaining('QueueDoesNotExist')]);
    expect(failed?.error).not.toContain('a@example.com');
    await operate(operation_id, 'resume', { ...deps, startRun: async () => {} });
    await runOperation(operation_id, deps, () => false);
    expect([(await stored())?.status, sent.length]).toEqual(['done', 3]);
  });
});
