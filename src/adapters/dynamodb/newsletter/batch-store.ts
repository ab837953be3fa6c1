import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { groupsOf } from '../../../core/model/collections.ts';
import { SEALED } from '../../../core/model/notification.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import {
  type Batch,
  type Chunk,
  type ChunkKey,
  type ChunkState,
  EXCLUDED_BATCH,
  RECIPIENT_DAYS,
  type Recipient,
  UnreadableChunkError,
} from '../../../core/newsletter/model/batch.ts';
import type { BatchStore, ChunkStore } from '../../../core/newsletter/model/ports.ts';
import { type Sealer, type SealOwner, SealRefusedError } from '../../sealing/sealer.ts';
import { type Item, toItem } from '../table/item.ts';
import { getItem, type Query, query, queryAll } from '../table/reads.ts';
import { changeVersioned, MAX_WRITES, writeItems } from '../table/writes.ts';

/** Sorts behind the numbers of batches and before everything else in the partition of an email. */
const LAST_NUMBER = '99999';

export function createBatchStore(client: DynamoDBClient, table: string, clock: Clock): BatchStore {
  const batchKeyOf = (email_id: string, batch_id: string) => ({ email_id: { S: email_id }, batch_id: { S: batch_id } });

  const numbered = (email_id: string, from: string): Query => {
    return { table, key: { email_id }, range: ['batch_id', 'between', from, LAST_NUMBER], consistent: true };
  };

  const read = async (email_id: string, batch_id: string) => {
    const item = await getItem(client, table, batchKeyOf(email_id, batch_id));
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
        key: batchKeyOf(batch.email_id, batch.batch_id),
        was: batch,
        change: { set: { ...set, updated_at: clock().toISOString() }, remove },
        fromItem: toBatch,
      }),

    async remove(email_id, batch_ids) {
      for (const ids of groupsOf(batch_ids, MAX_WRITES)) {
        const deletions = ids.map((batch_id) => ({ DeleteRequest: { Key: batchKeyOf(email_id, batch_id) } }));
        await writeItems(client, table, deletions);
      }
    },
  };
}

function toBatch(item: Item): Batch {
  const { expires_at: _, ...batch } = unmarshall(item);
  return batch as Batch;
}

/** Columns of a state that are absent while they are empty: most states are small for most of their life. */
const MAPS = ['reasons', 'tries', 'unanswered', 'message_ids', 'processed'] as const;
const SINGLE = ['call', 'processed_at', 'uncertain_at', 'refused_at'] as const;
const OPTIONAL = [...MAPS, ...SINGLE] as const;

export interface ChunkStoreOptions {
  readonly table: string;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** Days after which recipients expire that are put; their states and counts are kept longer. */
  readonly recipient_days?: number;
}

/** ChunkStore on the table email_recipients: two items per chunk, so that its state changes for little. */
export function createChunkStore(
  client: DynamoDBClient,
  { table, sealer, clock, recipient_days = RECIPIENT_DAYS }: ChunkStoreOptions,
): ChunkStore {
  const chunkItem = async (chunk: Chunk, expires_at: number): Promise<Item> => {
    const { tenant_id } = chunk;
    return { ...keyOf(chunk), ...toItem({ tenant_id, recipients: await sealRecipients(chunk, sealer), expires_at }) };
  };

  const opened = async ({ email_id, batch_id, chunk }: ChunkKey, item: Item): Promise<Chunk> => {
    const owner = { email_id, batch_id, chunk, tenant_id: item['tenant_id']?.S ?? '' };
    return { ...owner, recipients: await openRecipients(owner, item['recipients']?.S ?? '', sealer) };
  };

  return {
    async put(chunks) {
      const expires_at = expiresAt(clock());
      const items = await Promise.all(
        chunks.flatMap(({ chunk, state }) => {
          const { email_id: _, batch_id: __, chunk: ___, ...columns } = state;
          const stored = toItem({ ...storedColumns(columns).set, version: state.version, expires_at });
          return [chunkItem(chunk, expiresAt(clock(), recipient_days)), { ...stateKeyOf(state), ...stored }];
        }),
      );
      const puts = items.map((Item) => ({ PutRequest: { Item } }));
      await Promise.all(groupsOf(puts, MAX_WRITES).map((group) => writeItems(client, table, group)));
    },

    async readChunk(key) {
      const item = await getItem(client, table, keyOf(key));
      return item && opened(key, item);
    },

    async readChunks(email_id, batch_id, from, to) {
      const range = ['chunk', 'between', number(from), number(to)] as const;
      const items = await queryAll(client, { table, key: keyOfAll(email_id, batch_id), range, consistent: true });
      return items.map((item) => {
        const key = { email_id, batch_id, chunk: Number(item['chunk']?.S) };
        return { chunk: key.chunk, open: () => opened(key, item) };
      });
    },

    async readState(key) {
      const item = await getItem(client, table, stateKeyOf(key));
      return item && toState(item);
    },

    async states(email_id, batch_id) {
      const range = ['chunk', 'begins_with', 'state#'] as const;
      const items = await queryAll(client, { table, key: keyOfAll(email_id, batch_id), range, consistent: true });
      return items.map(toState);
    },

    change: (state, next) =>
      changeVersioned(client, {
        table,
        key: stateKeyOf(state),
        was: state,
        change: { set: next, remove: SINGLE.filter((name) => next[name] === undefined) },
        stored: storedColumns(next),
        fromItem: toState,
      }),
  };
}

const keyOfAll = (email_id: string, batch_id: string) => ({ email_batch: `${email_id}#${batch_id}` });

function keyOf({ email_id, batch_id, chunk }: ChunkKey): Item {
  return toItem({ ...keyOfAll(email_id, batch_id), chunk: number(chunk) });
}

function stateKeyOf({ email_id, batch_id, chunk }: ChunkKey): Item {
  return toItem({ ...keyOfAll(email_id, batch_id), chunk: `state#${number(chunk)}` });
}

/** The excluded batch may have many chunks: a million recipients make 20,000. */
const number = (chunk: number): string => String(chunk).padStart(5, '0');

function storedColumns(columns: Partial<Omit<ChunkState, keyof ChunkKey>>) {
  const absent = OPTIONAL.filter((name) => {
    const value = columns[name];
    return value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);
  });
  const kept = Object.entries(columns).filter(([name]) => name !== 'version' && !absent.some((gone) => gone === name));
  return { set: Object.fromEntries(kept), remove: absent };
}

function toState(item: Item): ChunkState {
  const { email_batch, chunk, expires_at: _, ...rest } = unmarshall(item);
  const [email_id, batch_id] = splitLast(String(email_batch));
  const maps = Object.fromEntries(MAPS.map((name) => [name, {}]));
  return { ...maps, ...rest, email_id, batch_id, chunk: Number(String(chunk).replace('state#', '')) } as ChunkState;
}

function splitLast(text: string): [string, string] {
  const at = text.lastIndexOf('#');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The recipients of a chunk as one sealed text: lists instead of objects, compressed, as the write is paid by its size. */
export async function sealRecipients({ tenant_id, recipients, ...key }: Chunk, sealer: Sealer): Promise<string> {
  const rows = recipients.map(({ member_id, member_uuid, member_email, member_name }) =>
    member_name === undefined
      ? [member_id, member_uuid, member_email]
      : [member_id, member_uuid, member_email, member_name],
  );
  // At once: for a text this short, a stream and a thread cost as much as the work.
  const packed = process.getBuiltinModule('node:zlib').deflateRawSync(JSON.stringify(rows));
  return sealer.seal(ownerOf({ tenant_id, ...key }), packed.toString('base64'));
}

export async function openRecipients(
  { tenant_id, ...key }: Omit<Chunk, 'recipients'>,
  sealed: string,
  sealer: Sealer,
): Promise<readonly Recipient[]> {
  const text = await sealer.open(ownerOf({ tenant_id, ...key }), sealed).catch((error: unknown) => {
    // Another error is KMS's or storage's, and may pass.
    throw error instanceof SealRefusedError ? unreadable(key, error) : error;
  });
  return rowsIn(text, key).map(([member_id = '', member_uuid = '', member_email = '', member_name]) => ({
    member_id,
    member_uuid,
    member_email,
    ...(member_name !== undefined && { member_name }),
  }));
}

function rowsIn(text: string, key: ChunkKey): string[][] {
  try {
    return JSON.parse(process.getBuiltinModule('node:zlib').inflateRawSync(Buffer.from(text, 'base64')).toString());
  } catch (error) {
    throw unreadable(key, error);
  }
}

function unreadable({ batch_id, chunk }: ChunkKey, cause: unknown): UnreadableChunkError {
  return new UnreadableChunkError(`Chunk ${chunk} of batch ${batch_id} was altered, or sealed for another place.`, {
    cause,
  });
}

/** A chunk opens in its place only. */
function ownerOf({ tenant_id, email_id, batch_id, chunk }: Omit<Chunk, 'recipients'>): SealOwner {
  return { tenant_id, purpose: SEALED.members, id: `${email_id}#${batch_id}#${chunk}` };
}
