import { type DynamoDBClient, paginateQuery } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Clock } from '../../../core/model/time.ts';
import type { EventStore } from '../../../core/newsletter/model/ports.ts';
import { type BatchEvents, EVENT_KINDS } from '../../../core/newsletter/model/recipient-state.ts';
import type { Item } from '../table/item.ts';
import { changeVersioned, expiresAt, readVersioned } from './versioned-item.ts';

const EVENTS = 'events#';

/** EventStore on the table email_batches: one item per batch beside its row, one binary attribute per kind. */
export function createEventStore(client: DynamoDBClient, table: string, clock: Clock): EventStore {
  const keyOf = (email_id: string, batch_id: string) => ({
    email_id: { S: email_id },
    batch_id: { S: `${EVENTS}${batch_id}` },
  });

  return {
    async read(email_id, batch_id) {
      const item = await readVersioned(client, table, keyOf(email_id, batch_id));
      return item ? toEvents(item) : { email_id, batch_id, version: 0, bits: {} };
    },

    change: (events, bits) =>
      changeVersioned(client, {
        table,
        key: keyOf(events.email_id, events.batch_id),
        was: events,
        change: { set: { bits } },
        stored: { set: { ...bits, expires_at: expiresAt(clock()) }, remove: [] },
        fromItem: toEvents,
      }),

    async list(email_id) {
      const query = {
        TableName: table,
        KeyConditionExpression: 'email_id = :email AND begins_with(batch_id, :events)',
        ExpressionAttributeValues: { ':email': { S: email_id }, ':events': { S: EVENTS } },
      };
      const found: BatchEvents[] = [];
      for await (const { Items = [] } of paginateQuery({ client }, query)) found.push(...Items.map(toEvents));
      return found;
    },
  };
}

function toEvents(item: Item): BatchEvents {
  const { email_id, batch_id, version, ...rest } = unmarshall(item);
  const kinds = EVENT_KINDS.flatMap((kind) => (rest[kind] === undefined ? [] : [[kind, rest[kind]]]));
  return {
    email_id: String(email_id),
    batch_id: String(batch_id).slice(EVENTS.length),
    version: Number(version),
    bits: Object.fromEntries(kinds),
  };
}
