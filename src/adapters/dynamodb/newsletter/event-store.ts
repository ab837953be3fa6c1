import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import { type BatchEvents, EVENT_KINDS } from '../../../core/newsletter/model/batch-events.ts';
import type { EventStore } from '../../../core/newsletter/model/ports.ts';
import type { Item } from '../table/item.ts';
import { getItem, queryAll } from '../table/reads.ts';
import { changeVersioned } from '../table/writes.ts';

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
