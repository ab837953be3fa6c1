import { type AttributeValue, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { type Item, toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { awsClients } from '../../src/local/emulator/aws-clients.ts';
import { PLAIN_QUEUE, PLAIN_TABLES } from '../plain/plain-tables.ts';
import { bundle, tableNames } from './function.ts';
import { BATCH, drain, queueAt, standardLane } from './lanes.ts';
import { startMeter, totalRequests } from './meter.ts';
import { failedRow, putAll, type RowShape, seedDue } from './rows.ts';
import type { World } from './world.ts';

/** The cost of one retry, from the sweep that finds it to its outcome. */
export interface RetryCost {
  readonly retries: number;
  readonly write_units: number;
  readonly read_units: number;
  /** The sweep's part of the read units. */
  readonly sweep_read_units: number;
  readonly sqs_requests: number;
  /** The write units per table and index. */
  readonly written: Readonly<Record<string, number>>;
  /** Final size of the notification's row in bytes. DynamoDB charges it in steps of 1,024. */
  readonly row_bytes: number;
}

/** Runs whole retries and measures their requests to DynamoDB and SQS. */
export interface MeteredRuns {
  /** Seeds the notifications, sweeps, and handles the queued messages. */
  deployed(count: number, shape: RowShape): Promise<RetryCost>;
  plain(count: number, shape: RowShape): Promise<RetryCost>;
}

export async function meteredRuns(world: World): Promise<MeteredRuns> {
  const [dynamodb, sqs] = [await startMeter(world, 'dynamodb'), await startMeter(world, 'sqs')];
  const services = { dynamodb: dynamodb.url, sqs: sqs.url };
  const poller = awsClients(dynamodb.url, sqs.url);
  world.until('poller', async () => poller.destroy());
  const dispatcher = await world.start('dispatcher', { services });
  const sender = await world.start('send-webhook', { services });
  // The plain functions need only the endpoints, so they get the environments of the deployed functions.
  const plain = async (service: string, entry: string) =>
    world.start(service, { services, bundle: await bundle(`bench/plain/${entry}.ts`, world.directory) });
  const plainDispatcher = await plain('dispatcher', 'plain-dispatcher');
  const plainWorker = await plain('send-webhook', 'plain-worker');
  const roles = new Map(Object.entries(tableNames(world)).map(([role, name]) => [name, role]));
  const lane = standardLane(world, 'send-webhook');
  const plainLane = queueAt(world, PLAIN_QUEUE);
  const read = () => ({ storage: dynamodb.read(), queue: sqs.read() });
  const measured = async (
    items: readonly Item[],
    table: string,
    run: { readonly sweep: () => Promise<unknown>; readonly handle: () => Promise<number> },
  ): Promise<RetryCost> => {
    const count = items.length;
    const posts = world.receiver.count();
    read();
    await run.sweep();
    const swept = read();
    const handled = await run.handle();
    const { storage, queue } = read();
    const sent = world.receiver.count() - posts;
    if (handled !== count || sent !== count) {
      throw new Error(`Of ${count} notifications ${handled} were handled and ${sent} posts received`);
    }
    return {
      retries: count,
      // The sweep writes one record of its own, which does not belong to a retry.
      write_units: storage.write_units / count,
      read_units: (swept.storage.read_units + storage.read_units) / count,
      sweep_read_units: swept.storage.read_units / count,
      sqs_requests: (totalRequests(swept.queue) + totalRequests(queue)) / count,
      written: Object.fromEntries(
        Object.entries(storage.written).map(([name, units]) => [roles.get(name) ?? name, units / count]),
      ),
      row_bytes: await rowSize(world, table, items[0]),
    };
  };
  return {
    async deployed(count, shape) {
      const items = await seedDue(world, count, shape);
      return measured(items, tableNames(world).notification_log, {
        sweep: () => dispatcher.run([{}]),
        handle: () => drain(poller.sqs, lane, sender, BATCH),
      });
    },
    async plain(count, shape) {
      const now = new Date();
      const rows = Array.from({ length: count }, () => toItem(failedRow(shape, now)));
      await putAll(world, PLAIN_TABLES.log, rows);
      return measured(rows, PLAIN_TABLES.log, {
        sweep: () => plainDispatcher.run([{ queue_url: plainLane.url }]),
        handle: () => drain(poller.sqs, plainLane, plainWorker),
      });
    },
  };
}

async function rowSize(world: World, TableName: string, item: Item | undefined): Promise<number> {
  const log_id = item?.['log_id']?.S ?? '';
  const { Item: row } = await world.clients.dynamodb.send(
    new GetItemCommand({ TableName, Key: { log_id: { S: log_id } }, ConsistentRead: true }),
  );
  if (row === undefined) throw new Error(`${TableName} has no row of a notification that was just handled`);
  return itemSize(row);
}

/**
 * Bytes of an item as DynamoDB charges for them: names and texts in UTF-8, a number about one byte per two digits plus
 * one, null and boolean one byte (Developer Guide, "DynamoDB item sizes and formats").
 */
export function itemSize(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value), 0);
}

function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return value.B.length;
  if (value.N !== undefined) return Math.ceil(value.N.replace(/^-?0*|[.]/g, '').length / 2) + 1;
  if (value.BOOL !== undefined || value.NULL !== undefined) return 1;
  // The pipeline writes no lists, maps or sets.
  throw new TypeError(`The size of a value of this type is not known: ${Object.keys(value).join()}`);
}
