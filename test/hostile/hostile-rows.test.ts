import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { availableEngines, startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { HARMLESS, HOSTILE_VALUES, type HostileValue } from '../support/hostile-values.ts';
import { HostileWorld } from '../support/hostile-world.ts';
import { INDEXER_ENVIRONMENT } from '../support/indexer-environment.ts';
import { iso } from '../support/rows.ts';

/** A row of another writer, due now. */
function goodRow(log_id: string): Item {
  return {
    log_id: { S: log_id },
    tenant_id: { S: 'TENANT001' },
    notification_type: { S: 'WEBHOOK' },
    recipient_address: { S: 'https://example.com/hook' },
    message_body: { S: '本文' },
    send_status: { S: 'PENDING' },
    max_retry_count: { N: '5' },
  };
}

/** A row that its writer put into the work index, as ours are. */
function ownKeys(log_id: string): Item {
  const { recipient_address: _, message_body: _1, ...row } = goodRow(log_id);
  return {
    ...row,
    channel: { S: 'webhook' },
    priority: { S: 'normal' },
    send_attempts: { N: '1' },
    attempts_left: { N: '3' },
    last_attempt: { N: '0' },
    work_queue: { S: workQueueOf('due', 'normal', log_id) },
    work_at: { S: iso() },
  };
}

/** The same, under our name, so that the stream's filter takes it for ours. */
const underOurName = (log_id: string): Item => ({ ...ownKeys(log_id), updated_by: { S: 'notification-retry' } });

const OWN = [
  ...['tenant_id', 'channel', 'priority', 'send_attempts', 'attempts_left', 'last_attempt'],
  ...['send_status', 'give_up', 'delivery_by_attempt', 'first_attempt_at', 'fallback_channel', 'record_due'],
  'failure_reason',
];

const STATE = ['send_status', 'send_attempts', 'attempts_left', 'last_attempt'];

interface Hostile {
  readonly item: Item;
  readonly column: string;
  readonly value: HostileValue;
}

const HUGE: readonly HostileValue[] = ['text of almost 400 KB'];
const LONG = [
  'tenant_id',
  'recipient_address',
  'subject',
  'message_body',
  'error_details',
  'error_message',
  'created_by',
];
const kinds = Object.entries(HOSTILE_VALUES) as [HostileValue, AttributeValue][];
/** Of each column every second value, of the next one the others; `.ci/run` has each value in each column. */
const EVERY = process.env['HOSTILE_ROWS'] === 'all' ? 1 : 2;
const cross = (columns: readonly string[], prefix: string, base: (log_id: string) => Item): Hostile[] =>
  columns.flatMap((column, c) =>
    kinds
      .filter(([value]) => LONG.includes(column) || !HUGE.includes(value))
      .map(([value, attribute], v) => ({
        column,
        value,
        item: { ...base(`${prefix}-${c}-${v}`), [column]: attribute },
      }))
      .filter((_, v) => (c + v) % EVERY === 0),
  );

/** Its content waits for the writer's correction, or has no tenant to be bound to. */
const isFaulty = ({ error_message }: ForeignRow) =>
  /(tenant_id|message_body|message_format|subject|fallback_recipient|fallback_channel) breaks/.test(
    String(error_message),
  );

describe.each(availableEngines().slice(0, 1))('hostile rows among good ones, on %s', (engine) => {
  let dynamodb: TestDynamoDb;
  let world: HostileWorld;
  let rows: Map<string, ForeignRow>;
  const good = Array.from({ length: 100 }, (_, i) => `good-${i}`);
  const written: Hostile[] = [];
  const indexed: Hostile[] = [];
  const repeated: number[] = [];
  const sweeps: { due: number; dead: number }[] = [];

  beforeAll(async () => {
    Object.assign(process.env, INDEXER_ENVIRONMENT);
    const { createHandler } = await import('../../functions/due-indexer/handler.ts');
    dynamodb = await startTestDynamoDb(engine);
    world = await HostileWorld.create(dynamodb, createHandler);
    const foreign = cross(Object.keys(HARMLESS), 'bad', goodRow);
    const own = [...cross([...OWN, 'work_at', 'work_queue'], 'own', ownKeys), ...cross(OWN, 'our', underOurName)];
    const put = async (hostile: Hostile, into: Hostile[]) => {
      if (await world.put(hostile.item)) into.push(hostile);
    };
    for (const log_id of good.slice(0, 50)) await world.put(goodRow(log_id));
    await Promise.all(foreign.map((hostile) => put(hostile, written)));
    await Promise.all(own.map((hostile) => put(hostile, indexed)));
    for (const log_id of good.slice(50)) await world.put(goodRow(log_id));
    // The second time, the stream shows what the indexer wrote itself.
    for (let i = 0; i < 2; i++) repeated.push(await world.stream());
    for (const run of ['sweep-1', 'sweep-2']) sweeps.push(await world.sweepAndDeliver(run));
    rows = await world.rows();
  }, 120_000);
  afterAll(() => dynamodb?.stop());

  const outcome = ({ item, column }: Hostile) => {
    const log_id = item['log_id']?.S ?? '';
    const row = rows.get(log_id) ?? {};
    const sent = world.sent.get(log_id) ?? 0;
    if (row['send_status'] === 'SUCCESS') return sent === 1 ? 'delivered' : 'not sent once';
    if (row['updated_by'] === 'unknown' && sent === 0) return 'untouched';
    const said = String(row['error_message']);
    const named = [column, column.replace('recipient', 'channel')].some((name) => said.includes(`${name} breaks `));
    const failed = row['send_status'] === 'FAILED' && sent === 0;
    if (failed && row['failure_reason'] === 'FORMAT_ERROR' && named && row['work_queue'] === undefined)
      return 'set aside';
    if (failed && String(row['work_queue']).startsWith('dead#')) return 'dead letter';
    return JSON.stringify(row).slice(0, 600);
  };
  const unlike = (hostile: readonly Hostile[], expected: (hostile: Hostile) => string) =>
    hostile
      .map((each) => ({ each, expected: expected(each), found: outcome(each) }))
      .filter(({ expected: wanted, found }) => wanted !== found)
      .map(({ each: { column, value, item }, ...rest }) => ({
        id: item['log_id']?.S,
        column,
        value,
        ...rest,
        each: 0,
      }));

  it('are as many as were asked for', () =>
    expect(written.length + indexed.length).toBeGreaterThanOrEqual(849 / EVERY - 30));

  it('never make the stream repeat a batch', () => expect(repeated).toEqual([0, 0]));

  it('let every good one be delivered once', () => {
    expect(good.filter((log_id) => world.sent.get(log_id) !== 1)).toEqual([]);
    expect(good.filter((log_id) => rows.get(log_id)?.['send_status'] !== 'SUCCESS')).toEqual([]);
  });

  it('are delivered where no rule is broken, and FAILED with column and rule elsewhere', () => {
    const expected = ({ column, value }: Hostile) => {
      if (column === 'is_deleted' && value === 'a boolean') return 'untouched';
      return HARMLESS[column]?.includes(value) ? 'delivered' : 'set aside';
    };
    expect(unlike(written, expected)).toEqual([]);
  });

  it('leave the work index with a reason when their writer put them there', () => {
    const harmless: Readonly<Record<string, readonly HostileValue[]>> = {
      ...HARMLESS,
      // No content was ever handed over: the dead letter says so.
      tenant_id: ['text', 'a name that every object has'],
      // A claim replaces the status.
      send_status: Object.keys(HOSTILE_VALUES) as HostileValue[],
      // Of the pipeline it is one of its own types.
      failure_reason: ['NULL'],
      channel: [],
      priority: [],
      work_at: [],
    };
    const dead = ({ column, value, item }: Hostile) =>
      harmless[column]?.includes(value) &&
      // The indexer reads the row before anyone claims it, and finds it incomplete.
      !(STATE.includes(column) && item['updated_by'] === undefined && (column === 'send_status' || value === 'NULL')) &&
      !(column === 'last_attempt' && value === 'NULL');
    expect(unlike(indexed, (hostile) => (dead(hostile) ? 'dead letter' : 'set aside'))).toEqual([]);
  });

  it('leave nothing for the next sweep', () => {
    const letters = [...rows.values()].filter((row) => String(row['work_queue']).startsWith('dead#'));
    expect(sweeps[0]?.dead).toBe(letters.length);
    expect(sweeps[1]).toEqual({ due: 0, dead: 0 });
  });

  it('leave no recipient in the clear', () => {
    const clear = [...rows.values()].filter(
      (row) => row['recipient_address'] === 'https://example.com/hook' && !isFaulty(row),
    );
    expect(clear.map((row) => row['log_id'])).toEqual([]);
  });
});
