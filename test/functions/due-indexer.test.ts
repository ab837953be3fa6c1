import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { DynamoDBRecord } from 'aws-lambda';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { RowUnstorableError } from '../../src/core/indexing/index-row.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { baseShards } from '../support/index-shards.ts';
import { INDEXER_ENVIRONMENT } from '../support/indexer-environment.ts';
import { T0 } from '../support/rows.ts';

const text = (S: string) => ({ S });
const image = (log_id: string, changes: NonNullable<DynamoDBRecord['dynamodb']>['NewImage'] = {}) => ({
  log_id: text(log_id),
  tenant_id: text('T1'),
  notification_type: text('WEBHOOK'),
  recipient_address: text('https://example.com/hook'),
  message_body: text('本文'),
  send_status: text('FAILED'),
  ...changes,
});
type Image = ReturnType<typeof image>;
const record = (NewImage: Image, sequence: number): DynamoDBRecord => ({
  eventName: 'INSERT',
  dynamodb: { Keys: { log_id: NewImage.log_id }, NewImage, SequenceNumber: String(sequence) },
});

describe('the due-indexer', () => {
  let createHandler: typeof import('../../functions/due-indexer/handler.ts')['createHandler'];
  const quiet = { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) };

  beforeAll(async () => {
    // The module binds itself to its environment on import, as Lambda loads it.
    Object.assign(process.env, INDEXER_ENVIRONMENT);
    ({ createHandler } = await import('../../functions/due-indexer/handler.ts'));
  });

  function setUp() {
    const tables = new MemoryTables(() => T0);
    const put = (row: Image) =>
      tables.log.set(row.log_id.S, Object.fromEntries(Object.entries(row).map(([name, { S }]) => [name, S])));
    const handle = (store: Pick<MemoryTables, 'index' | 'putContent' | 'hasContent'> = tables) =>
      createHandler({ store, shards: baseShards, policy: DEFAULT_RETRY_POLICY, clock: () => T0 }, quiet);
    return { tables, put, handle };
  }

  it('takes a row as it was last left, though both its images come at once', async () => {
    const { tables, put, handle } = setUp();
    const old = image('a');
    const fresh = image('a', { message_body: text('新しい本文') });
    put(fresh);
    expect(await handle()({ Records: [record(old, 1), record(fresh, 2)] })).toEqual({ batchItemFailures: [] });
    expect(tables.row('a')).toMatchObject({ work_queue: expect.stringMatching(/^due#/) });
    expect(tables.content.get('a')?.body).toBe('新しい本文');
  });

  it('says once per batch how many rows have changed since', async () => {
    const { put, handle } = setUp();
    const said = vi.spyOn(quiet.logger, 'info');
    const ids = Array.from({ length: 20 }, (_, i) => `row-${i}`);
    for (const id of ids) put(image(id, { send_status: text('SUCCESS') }));
    await handle()({ Records: ids.map((id, i) => record(image(id), i + 1)) });
    expect(said.mock.calls).toEqual([['rows have changed since; their later images count', { rows: 20 }]]);
    said.mockRestore();
  });

  it('reads the stream again from a row that storage refused for the moment, and takes the others in', async () => {
    const { tables, put, handle } = setUp();
    for (const id of ['a', 'b', 'c']) put(image(id));
    const throttled = {
      hasContent: (id: string) => tables.hasContent(id),
      putContent: (...args: Parameters<MemoryTables['putContent']>) => tables.putContent(...args),
      index: (...args: Parameters<MemoryTables['index']>) =>
        args[0]['log_id'] === 'b' ? Promise.reject(new Error('slow down')) : tables.index(...args),
    };
    const event = { Records: ['a', 'b', 'c'].map((id, i) => record(image(id), i + 1)) };
    expect(await handle(throttled)(event)).toEqual({ batchItemFailures: [{ itemIdentifier: '2' }] });
    expect(tables.row('c')).toHaveProperty('work_queue');
  });

  it.each([
    ['too large for storage', {}, 'limit'],
    ['that holds a number no program can', { scheduled_at: { N: '12345678901234567.25' } }, 'scheduled_at'],
    ['with a body that is no text', { message_body: { B: 'AAEC' } }, 'message_body'],
  ])('sets a row %s aside, and never reads it again', async (_, changes, named) => {
    const { tables, handle } = setUp();
    const row = image('a', changes as unknown as Image);
    const said: unknown[] = [];
    const store = {
      hasContent: async () => false,
      putContent: () => Promise.reject(new RowUnstorableError('the limit of 400 KB an item')),
      index: async (_: unknown, set: Readonly<Record<string, unknown>>) => said.push(set) > 0,
    };
    const use =
      named === 'limit'
        ? store
        : { ...store, putContent: (...args: Parameters<MemoryTables['putContent']>) => tables.putContent(...args) };
    expect(await handle(use)({ Records: [record(row, 1)] })).toEqual({ batchItemFailures: [] });
    expect(said).toEqual([
      expect.objectContaining({ failure_reason: 'FORMAT_ERROR', error_message: expect.stringContaining(named) }),
    ]);
  });
});
