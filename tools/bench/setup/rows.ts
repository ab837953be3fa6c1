import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { type Item, toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { getItems, MAX_GETS } from '../../../src/adapters/dynamodb/table/reads.ts';
import { writeItems } from '../../../src/adapters/dynamodb/table/writes.ts';
import type { Channel, Priority } from '../../../src/core/model/channels.ts';
import { groupsOf } from '../../../src/core/model/collections.ts';
import type { ForeignRow, MessageFormat } from '../../../src/core/model/notification.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { streamRecord } from '../../../src/local/emulator/sources/stream-batches.ts';
import { LOCAL_REGION } from '../../../src/local/emulator/template/references.ts';
import { dynoxideBinary } from '../../../src/local/stand-ins/dynamodb.ts';
import { createRandom } from '../../simulation/engine/virtual-time.ts';
import type { BenchContext } from '../benchmark.ts';
import { PLAIN_TABLES } from '../plain/plain-tables.ts';
import { deployedFunctions, expectNoFailures, tableNames } from './function.ts';
import type { World } from './world.ts';

const LETTERS = 'etaoin shrd ';

/**
 * A body of exactly this size, the same on each call. It has few letters, so that it compresses like real notifications,
 * to less than half; a repeated sentence would compress to almost nothing.
 */
export function bodyOf(bytes: number): string {
  const draw = createRandom(bytes, 'body');
  return Array.from({ length: bytes }, () => LETTERS[Math.floor(draw() * LETTERS.length)]).join('');
}

export interface RowShape {
  readonly channel: Channel;
  readonly recipient: string;
  readonly body: string;
  readonly format?: MessageFormat;
  readonly priority?: Priority;
  /** An id of SAMPLE_INTEGRATIONS. */
  readonly integration?: string;
  /** How many tenants share the notifications evenly; one unless given. */
  readonly tenants?: number;
}

/**
 * A failed notification as BATCH-951 writes it. It has every column of his-notification-log-table.md, and UUIDs as ids,
 * so that its size is realistic.
 * @param index number of the notification, which decides its tenant
 */
export function failedRow(shape: RowShape, now: Date, index = 0): ForeignRow {
  const failed = new Date(now.getTime() - 60_000).toISOString();
  return {
    log_id: randomUUID(),
    is_deleted: false,
    tenant_id: `TENANT${String((index % (shape.tenants ?? 1)) + 1).padStart(3, '0')}`,
    notification_id: randomUUID(),
    setting_id: randomUUID(),
    template_id: randomUUID(),
    notification_type: shape.channel.toUpperCase(),
    priority: shape.priority ?? 'normal',
    priority_level: 'MEDIUM',
    recipient_type: 'WEBHOOK',
    recipient_address: shape.recipient,
    subject: '通知: スキル更新のお知らせ',
    message_body: shape.body,
    message_format: shape.format ?? 'PLAIN',
    send_status: 'FAILED',
    send_attempts: 1,
    max_retry_count: 3,
    scheduled_at: failed,
    sent_at: null,
    delivered_at: null,
    opened_at: null,
    response_code: '503',
    response_message: 'Service Unavailable',
    error_details: '{"error":"connection reset by peer"}',
    ...(shape.integration !== undefined && { integration_config_id: shape.integration }),
    created_at: failed,
    updated_at: failed,
    created_by: 'BATCH-951',
    updated_by: 'BATCH-951',
  };
}

/** The row as the sweep finds it: due now in the work index, without its content. */
export function dueItem(shape: RowShape, now: Date, log_id: string): Item {
  const { recipient_address: _, subject: _1, message_body: _2, message_format: _3, ...row } = failedRow(shape, now);
  const priority = shape.priority ?? 'normal';
  return toItem({
    ...row,
    log_id,
    channel: shape.channel,
    work_queue: workQueueOf('due', priority, log_id),
    work_at: now.toISOString(),
  });
}

/**
 * Puts notifications as BATCH-951 does. The due-indexer then adds them to the work index and encrypts their content.
 * @returns the due rows, so that they can be put again
 */
export async function seedDue(world: World, count: number, shape: RowShape): Promise<Item[]> {
  const { notification_log } = tableNames(world);
  const now = new Date();
  const images = Array.from({ length: count }, (_, i) => toItem(failedRow(shape, now, i)));
  await putAll(world, notification_log, images);
  const indexer = world.start('due-indexer');
  const { results } = await indexer.run(streamEvents(images));
  await indexer.stop();
  expectNoFailures(results);
  const keys = images.flatMap(({ log_id }) => (log_id === undefined ? [] : [{ log_id }]));
  const due: Item[] = [];
  for (const some of groupsOf(keys, MAX_GETS)) {
    const rows = await getItems(world.clients.dynamodb, notification_log, some, { consistent: true });
    due.push(...rows.filter((row) => row['work_queue'] !== undefined));
  }
  if (due.length !== count) throw new Error(`The due-indexer took ${due.length} of ${count} rows into the work index`);
  return due;
}

/** Lambda's event to the due-indexer for new rows. */
function streamEvents(images: readonly Item[]): object[] {
  const records = images.map((NewImage, i) => {
    const dynamodb = { SequenceNumber: String(i + 1).padStart(21, '0'), NewImage };
    return streamRecord({ eventID: String(i), eventName: 'INSERT', dynamodb }, '', LOCAL_REGION);
  });
  return groupsOf(records, 25).map((Records) => ({ Records }));
}

/**
 * The rows, due for attempts that have no records yet. Over the records of an earlier pass, writing costs two reads and
 * a put more for each of them, which no delivery pays.
 * @param pass number of the pass, from 0
 */
export function dueAgain(items: readonly Item[], pass: number): Item[] {
  const attempted = (item: Item) => Number(item['last_attempt']?.N ?? 0) + 100 * pass;
  return items.map((item) => ({ ...item, last_attempt: { N: String(attempted(item)) } }));
}

/** Puts items and replaces existing ones. A dozen bodies of 256 KB are within what a call takes. */
export async function putAll({ clients }: World, table: string, items: readonly Item[]): Promise<void> {
  const puts = items.map((Item) => ({ PutRequest: { Item } }));
  for (const some of groupsOf(puts, 12)) await writeItems(clients.dynamodb, table, some);
}

/** Puts failed rows into the table of the plain reading. */
export async function putPlain(world: World, count: number, shape: RowShape): Promise<readonly Item[]> {
  const now = new Date();
  const rows = Array.from({ length: count }, () => toItem(failedRow(shape, now)));
  await putAll(world, PLAIN_TABLES.log, rows);
  return rows;
}

type Items = Iterable<Item> | AsyncIterable<Item>;

/** Makes a data directory with one large table for the stand-in. @returns the directory */
export async function importTable({ home, stack }: BenchContext, name: string, tableName: string, items: Items) {
  const directory = join(home, name);
  const Table = deployedFunctions(stack).plan.tables.find(({ TableName }) => TableName === tableName);
  await importItems(directory, { ...Table, TableName: tableName }, items);
  return directory;
}

/**
 * Makes `dynamodb.sqlite` with one table in a data directory. A million rows take 15 minutes to put over HTTP, and half a
 * minute to import as a DynamoDB export.
 * @param table as DescribeTable or CreateTable has it
 * @throws Error when dynoxide is not installed on this platform, or with dynoxide's output
 */
export async function importItems(directory: string, table: { readonly TableName: string }, items: Items) {
  const source = join(directory, 'export');
  const data = join(source, table.TableName, 'data');
  mkdirSync(data, { recursive: true });
  await pipeline(Readable.from(lines(items)), createGzip({ level: 1 }), createWriteStream(join(data, 'rows.json.gz')));
  const schema = join(directory, 'schema.json');
  writeFileSync(schema, JSON.stringify({ Table: table }));
  const output = join(directory, 'dynamodb.sqlite');
  const args = ['import', '--source', source, '--schema', schema, '--output', output];
  const binary = dynoxideBinary();
  if (binary === undefined) throw new Error('This needs dynoxide: run npm ci without --omit=optional, where it exists');
  await promisify(execFile)(binary, args, { maxBuffer: 100_000_000 });
}

/** Bytes that are compressed at once. */
const CHUNK = 1_000_000;

async function* lines(items: Items): AsyncGenerator<string> {
  let text = '';
  for await (const item of items) {
    text += `${JSON.stringify({ Item: item })}\n`;
    if (text.length < CHUNK) continue;
    yield text;
    text = '';
  }
  yield text;
}
