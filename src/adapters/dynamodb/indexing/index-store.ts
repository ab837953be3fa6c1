import { type DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import {
  type ContentOwner,
  ErasedError,
  type IndexStore,
  nextLife,
  RowUnstorableError,
} from '../../../core/indexing/index-row.ts';
import type { ProgressStore, RowScan, ScanProgress } from '../../../core/indexing/reconcile.ts';
import { IMAGE_COLUMNS } from '../../../core/indexing/row-rules.ts';
import {
  CONTENT_COLUMNS,
  FALLBACK_COLUMNS,
  hasContent,
  type NotificationContent,
  UPDATED_BY,
} from '../../../core/model/notification.ts';
import { turnOf } from '../../../core/model/row-change.ts';
import type { Sealer } from '../../sealing/sealer.ts';
import { recipientHash } from '../../signing/hashed-ids.ts';
import { contentItem, notLater, storedSequence } from '../delivery/content-store.ts';
import { amendedItem, fallbackAttributes, lifeOf, type Owned, placed } from '../delivery/successor-store.ts';
import { putGuarded, updateGuarded } from '../table/guarded-update.ts';
import { asRead, type Guard, NEW } from '../table/guards.ts';
import { type Item, toForeignRow, toItem } from '../table/item.ts';
import { getItem, itemsOf, query, readItem } from '../table/reads.ts';

export interface IndexStoreOptions {
  readonly client: DynamoDBClient;
  readonly tables: {
    readonly notification_log: string;
    readonly notification_content: string;
    readonly notification_retry_log: string;
  };
  readonly sealer: Sealer;
  /** The key of recipientHash; read when first needed. */
  readonly hashKey: () => Promise<string>;
}

/** IndexStore on NotificationLog and NotificationContent. */
export function createIndexStore(options: IndexStoreOptions): IndexStore {
  const { client, tables } = options;
  const contents = new Contents(options);
  return {
    async index(image, set, remove) {
      const turn = turnOf(image, { set, remove }, { now: new Date(), random: Math.random });
      const update = {
        log_id: String(image['log_id']),
        set: { ...set, ...turn },
        remove,
        guard: asRead(image, IMAGE_COLUMNS),
      };
      try {
        return (await updateGuarded(client, tables.notification_log, update)).applied;
      } catch (error) {
        throw unstorable(error);
      }
    },

    putContent: (owner, content) => contents.put(owner, content),
    hasContent: async (log_id) => (await contents.read(log_id, ['log_id'])) !== undefined,
  };
}

/** What is stored of the images' content, each sealed for its row. */
class Contents {
  readonly #options: IndexStoreOptions;

  constructor(options: IndexStoreOptions) {
    this.#options = options;
  }

  read(log_id: string, columns?: readonly string[]): Promise<Item | undefined> {
    const { client, tables } = this.#options;
    return readItem(client, tables.notification_content, log_id, columns);
  }

  async put(owner: ContentOwner, content: Partial<NotificationContent>): ReturnType<IndexStore['putContent']> {
    const { log_id, tenant_id, sequence, amends } = owner;
    const hashed = content.recipient && recipientHash(await this.#options.hashKey(), tenant_id, content.recipient);
    const answer = { ...(hashed && { recipient_hash: hashed }) };
    const whole = content as NotificationContent;
    // What is there shows by this put: as a rule nothing is, and it costs no more than one that asks nothing.
    const first = amends ? undefined : await this.#write(await this.#itemOf(owner, whole), [NEW]);
    if (first?.applied) return answer;
    // Not every emulator returns the item; AWS does.
    const there = first?.item ?? (await this.read(log_id)) ?? {};
    if (isErased(there)) throw new ErasedError(ERASED);
    // Seen once more, the image would bring back what an operator has corrected since.
    if (there['corrected_at'] && isSeenAgain(owner, there)) return undefined;
    if (begins(owner, there) && Object.keys(content).length > 0 && (await this.#isTakenIn(log_id))) return undefined;
    const life = await this.#lifeBehind(owner, there);
    const owned: Owned = { ...owner, ...(life !== undefined && { life }) };
    if (amends && there['tenant_id']?.S !== tenant_id) throw new RowUnstorableError('the content that it lacks');
    const { sealer, hashKey } = this.#options;
    const item = amends
      ? await amendedItem(owned, content, there, { sealer, hashKey })
      : await this.#itemOf(owned, whole);
    // If the content of a later image is stored already, the update of this image's row finds the row changed.
    const { applied, item: other } = await this.#write(item, notLater(sequence, life));
    const later = applied ? undefined : (other ?? (await this.read(log_id)));
    if (isErased(later)) throw new ErasedError(ERASED);
    return { ...answer, ...(life !== undefined && { life }) };
  }

  async #write(item: Item, guards: readonly Guard[]) {
    const { client, tables } = this.#options;
    try {
      return await putGuarded(client, tables.notification_content, item, guards);
    } catch (error) {
      throw unstorable(error);
    }
  }

  /**
   * Of two images with the same content the first one takes the row in. The second one would begin a life that the row
   * has not, and no failover would find the content.
   */
  async #isTakenIn(log_id: string): Promise<boolean> {
    const { client, tables } = this.#options;
    const columns = ['log_id', ...CONTENT_COLUMNS, ...FALLBACK_COLUMNS];
    const row = await readItem(client, tables.notification_log, log_id, columns);
    return row !== undefined && !hasContent(unmarshall(row));
  }

  /** The life of the content that is to be stored, behind what is there; undefined: the first one. */
  async #lifeBehind(owner: ContentOwner, there: Item): Promise<number | undefined> {
    if (!begins(owner, there)) return lifeOf(there);
    const { client, tables } = this.#options;
    const { items } = await query(client, {
      table: tables.notification_retry_log,
      key: { original_log_id: owner.log_id },
      backwards: true,
      limit: 1,
      consistent: true,
      columns: ['retry_attempt'],
    });
    const [{ retry_attempt } = {}] = items.map((item) => unmarshall(item));
    return nextLife(unmarshall(there), retry_attempt);
  }

  async #itemOf(owner: Owned, content: NotificationContent): Promise<Item> {
    const { sealer, hashKey } = this.#options;
    const fallback = content.fallback && (await fallbackAttributes(owner, content.fallback, sealer, hashKey));
    return placed(await contentItem(sealer, owner, content, fallback), owner);
  }
}

/** Whether another life begins with the content, behind what is there. */
const begins = (owner: ContentOwner, there: Item): boolean => owner.begins !== 'kept' && !isSeenAgain(owner, there);

const isSeenAgain = ({ begins, sequence }: ContentOwner, there: Item): boolean =>
  begins !== 'new' && storedSequence(there) === sequence;

const ERASED = 'The content of this log_id was erased.';
const isErased = (item: Item | undefined): boolean => item?.['erased_at'] !== undefined;

/** With ValidationException DynamoDB refuses what no retry can store, mostly an item of more than 400 KB. */
function unstorable(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'ValidationException') return error;
  return new RowUnstorableError('the limit of 400 KB an item', { cause: error });
}

/** Rows per page: about 20 read units of ours, and few enough to take in between two looks at the clock. */
const PAGE_SIZE = 250;

/**
 * RowScan on NotificationLog. The filter leaves out what is certainly ours: rows without content that the pipeline wrote
 * last, with work or with a reason why there is none, and delivered rows that are in the history.
 */
export function createRowScan(
  client: DynamoDBClient,
  tables: Pick<IndexStoreOptions['tables'], 'notification_log' | 'notification_content'>,
): RowScan {
  return {
    async page(after) {
      const answer = await client.send(
        new ScanCommand({
          TableName: tables.notification_log,
          Limit: PAGE_SIZE,
          FilterExpression:
            `${[...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].map((column) => `attribute_exists(${column})`).join(' OR ')} OR (` +
            'NOT (updated_by = :us AND (attribute_type(work_queue, :text) OR attribute_type(failure_reason, :text))) ' +
            'AND NOT (send_status = :delivered AND attribute_exists(history_bucket)))',
          ExpressionAttributeValues: { ':us': { S: UPDATED_BY }, ':text': { S: 'S' }, ':delivered': { S: 'SUCCESS' } },
          ReturnConsumedCapacity: 'TOTAL',
          ...(after && { ExclusiveStartKey: after as Item }),
        }),
      );
      const { ScannedCount, ConsumedCapacity, LastEvaluatedKey } = answer;
      return {
        rows: itemsOf(answer).map(toForeignRow),
        scanned: ScannedCount ?? 0,
        read_units: ConsumedCapacity?.CapacityUnits ?? 0,
        ...(LastEvaluatedKey && { next: LastEvaluatedKey }),
      };
    },

    async read(log_id) {
      // In this order: content that the indexer stores after this read is recognised as later.
      const content = await readItem(client, tables.notification_content, log_id, ['image_sequence']);
      const row = await readItem(client, tables.notification_log, log_id);
      return row && { row: toForeignRow(row), sequence: storedSequence(content), unseen: true };
    },
  };
}

const KEY = { kind: 'reconcile', id: 'scan' };

/** ProgressStore on PipelineState: one item that never expires. */
export function createScanProgress(client: DynamoDBClient, table: string): ProgressStore {
  return {
    async read() {
      const item = await getItem(client, table, toItem(KEY));
      if (item === undefined) return undefined;
      const { kind: _, id: __, next, ...progress } = unmarshall(item);
      return { ...progress, ...(next !== undefined && { next: JSON.parse(next) }) } as ScanProgress;
    },
    async write({ next, ...progress }) {
      const Item = toItem({ ...KEY, ...progress, next: next && JSON.stringify(next) });
      await client.send(new PutItemCommand({ TableName: table, Item }));
    },
  };
}
