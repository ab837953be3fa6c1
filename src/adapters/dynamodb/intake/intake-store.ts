import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { IntakeRecord, IntakeStore, StoredRow } from '../../../core/intake/ports.ts';
import type { ReportStore } from '../../../core/intake/report-failure.ts';
import { type Guard, NEW, turnOf } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import { recipientHash } from '../../signing/hashed-ids.ts';
import { contentItem } from '../delivery/content-items.ts';
import { createClaimStore } from '../delivery/delivery-stores.ts';
import { fallbackAttributes } from '../delivery/successor-store.ts';
import { createIndexStore, type IndexStoreOptions } from '../indexing/index-store.ts';
import { type Item, toForeignRow, toItem } from '../table/item.ts';
import { readItem } from '../table/reads.ts';
import { updateGuarded } from '../table/statements.ts';
import { putGuarded } from '../table/writes.ts';

/** There is none, or it has expired: DynamoDB may take days to delete it. */
export function isFree(now: Date): readonly Guard[] {
  return [NEW, [['expires_at', '<', Math.floor(now.getTime() / 1000)]]];
}

/** The request of an idempotency key that holds its content is the one that was read. */
export function ofGeneration(log_id: string, latest: number): Guard {
  return [
    ['log_id', '=', log_id],
    ['latest_generation', '=', latest === 0 ? undefined : latest],
  ];
}

const RECORD = [
  'log_id',
  'request_hash',
  'accepted_at',
  'accepted_status',
  'accepted_by',
  'latest_generation',
  'traceparent',
  'erased_at',
  'expires_at',
] as const satisfies readonly (keyof IntakeRecord)[];

const ROW = [
  'log_id',
  'tenant_id',
  'channel',
  'priority',
  'send_status',
  'last_attempt',
  'work_queue',
  'work_at',
] as const satisfies readonly (keyof StoredRow)[];

/** IntakeStore on NotificationContent and NotificationLog. */
export function createIntakeStore({ client, tables, sealer, hashKey }: IndexStoreOptions): IntakeStore {
  /** Undefined when the item was put; the stored item when its log_id exists already. */
  async function putIfFree(table: string, item: Item, now: Date): Promise<Item | undefined> {
    const { applied, item: there = {} } = await putGuarded(client, table, item, isFree(now));
    return applied ? undefined : there;
  }

  async function find(log_id: string): Promise<IntakeRecord | undefined> {
    const item = await readItem(client, tables.notification_content, log_id, RECORD);
    return item && toRecord(item);
  }

  async function findRow(log_id: string): Promise<StoredRow | undefined> {
    const item = await readItem(client, tables.notification_log, log_id, ROW);
    return item && toStoredRow(item);
  }

  return {
    async reserve({ record, tenant_id, content }, now) {
      const owner = { ...record, tenant_id };
      const fallback = content.fallback && (await fallbackAttributes(owner, content.fallback, sealer, hashKey));
      const item = await contentItem(sealer, owner, content, fallback);
      const there = await putIfFree(tables.notification_content, { ...item, ...toItem(record) }, now);
      if (there === undefined) return undefined;
      // Not every emulator returns the item of a failed condition; AWS does.
      return foundOf(there['log_id'] === undefined ? await find(record.log_id) : toRecord(there));
    },

    find,

    async advance(log_id, from_generation, expires_at) {
      const set = { latest_generation: from_generation + 1, expires_at };
      await updateGuarded(client, tables.notification_content, {
        log_id,
        set,
        guard: ofGeneration(log_id, from_generation),
      });
    },

    async putRow(row, recipient, now) {
      const recipient_hash = recipientHash(await hashKey(), row.tenant_id, recipient);
      const turn = turnOf({}, { set: row }, { now, random: Math.random });
      const there = await putIfFree(tables.notification_log, toItem({ ...row, ...turn, recipient_hash }), now);
      if (there === undefined) return undefined;
      return foundOf(there['log_id'] === undefined ? await findRow(row.log_id) : toStoredRow(there));
    },

    findRow,
  };
}

function foundOf<T>(found: T | undefined): T {
  if (found === undefined) throw new Error('The item that had the log_id is deleted by now: send the request again.');
  return found;
}

/** The other attributes of the item are content, which the intake does not need. */
const toRecord = (item: Item): IntakeRecord => only(RECORD, item) as IntakeRecord;

const toStoredRow = (item: Item): StoredRow => only(ROW, item) as StoredRow;

function only(names: readonly string[], item: Item): unknown {
  return unmarshall(Object.fromEntries(Object.entries(item).filter(([name]) => names.includes(name))));
}

/** ReportStore: changes rows as the channel functions do, and indexes new rows as the indexer does. */
export function createReportStore(options: IndexStoreOptions, clock: Clock): ReportStore {
  const { client, tables } = options;
  const { change, settle } = createClaimStore(client, tables.notification_log, clock);
  return {
    ...createIndexStore(options),
    change,
    settle,
    async readRow(log_id) {
      const item = await readItem(client, tables.notification_log, log_id);
      return item && toForeignRow(item);
    },
  };
}
