import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { groupsOf } from '../../../core/model/collections.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import { type Batch, EXCLUDED_BATCH } from '../../../core/newsletter/model/batch.ts';
import type { BatchStore, EventStore } from '../../../core/newsletter/model/ports.ts';
import { type BatchEvents, EVENT_KINDS } from '../../../core/newsletter/model/recipient-state.ts';
import { type Item, toItem } from '../table/item.ts';
import { getItem, type Query, query, queryAll } from '../table/reads.ts';
import { changeVersioned, MAX_WRITES, writeItems } from '../table/writes.ts';

/** Sorts behind the numbers of batches and before everything else in the partition of an email. */
const LAST_NUMBER = '99999';

export function createBatchStore(client: DynamoDBClient, table: string, clock: Clock): BatchStore {
  const keyOf = (email_id: string, batch_id: string) => ({ email_id: { S: email_id }, batch_id: { S: batch_id } });

  const numbered = (email_id: string, from: string): Query => {
    return { table, key: { email_id }, range: ['batch_id', 'between', from, LAST_NUMBER], consistent: true };
  };

  const read = async (email_id: string, batch_id: string) => {
    const item = await getItem(client, table, keyOf(email_id, batch_id));
    return item && toBatch(item);
  };

  return {
    read,

    async put(batch) {
      await client.send(
        new PutItemCommand({ TableName: table, Item: toItem({ ...batch, expires_at: expiresAt(clock()) }) }),
      );
    },

    async list(email_id) {
      // Awaited together: a read that is refused while the query is under way would otherwise end the process.
      const [found, excluded] = await Promise.all([
        queryAll(client, numbered(email_id, '0')),
        read(email_id, EXCLUDED_BATCH),
      ]);
      return [...found.map(toBatch), ...(excluded === undefined ? [] : [excluded])];
    },

    async from(email_id, batch_id, limit) {
      const { items } = await query(client, { ...numbered(email_id, batch_id), limit });
      return items.map(toBatch);
    },

    change: (batch, { set, remove = [] }) =>
      changeVersioned(client, {
        table,
        key: keyOf(batch.email_id, batch.batch_id),
        was: batch,
        change: { set: { ...set, updated_at: clock().toISOString() }, remove },
        fromItem: toBatch,
      }),

    async remove(email_id, batch_ids) {
      for (const ids of groupsOf(batch_ids, MAX_WRITES)) {
        const deletions = ids.map((batch_id) => ({ DeleteRequest: { Key: keyOf(email_id, batch_id) } }));
        await writeItems(client, table, deletions);
      }
    },
  };
}

function toBatch(item: Item): Batch {
  const { expires_at: _, ...batch } = unmarshall(item);
  return batch as Batch;
}

const EVENTS = 'events#';

/** EventStore on the table email_batches: one item per batch beside its row, one binary attribute per kind. */
export function createEventStore(client: DynamoDBClient, table: string, clock: Clock): EventStore {
  const keyOf = (email_id: string, batch_id: string) => ({
    email_id: { S: email_id },
    batch_id: { S: `${EVENTS}${batch_id}` },
  });

  return {
    async read(email_id, batch_id) {
      const item = await getItem(client, table, keyOf(email_id, batch_id));
      return item ? toEvents(item) : { email_id, batch_id, version: 0, bits: {} };
    },

    change: (events, { bits, ...told }) =>
      changeVersioned(client, {
        table,
        key: keyOf(events.email_id, events.batch_id),
        was: events,
        change: { set: { bits, ...told } },
        stored: { set: { ...bits, ...told, expires_at: expiresAt(clock()) }, remove: [] },
        fromItem: toEvents,
      }),

    async list(email_id) {
      const range = ['batch_id', 'begins_with', EVENTS] as const;
      return (await queryAll(client, { table, key: { email_id }, range })).map(toEvents);
    },
  };
}

function toEvents(item: Item): BatchEvents {
  const { email_id, batch_id, version, went_on_at, late_refusals, ...rest } = unmarshall(item);
  const kinds = EVENT_KINDS.flatMap((kind) => (rest[kind] === undefined ? [] : [[kind, rest[kind]]]));
  return {
    email_id: String(email_id),
    batch_id: String(batch_id).slice(EVENTS.length),
    version: Number(version),
    bits: Object.fromEntries(kinds),
    ...(went_on_at !== undefined && { went_on_at }),
    ...(late_refusals !== undefined && { late_refusals }),
  };
}
