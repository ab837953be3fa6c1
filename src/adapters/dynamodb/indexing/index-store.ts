import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { CHANGE_TRIES } from '../../../core/delivery/ports.ts';
import {
  type ContentOwner,
  ErasedError,
  type IndexStore,
  nextLife,
  RowUnstorableError,
  type StoredContent,
} from '../../../core/indexing/index-row.ts';
import { IMAGE_COLUMNS } from '../../../core/indexing/row-rules.ts';
import { changeUntil } from '../../../core/model/changes.ts';
import {
  CONTENT_COLUMNS,
  FALLBACK_COLUMNS,
  hasContent,
  type NotificationContent,
  SEALED,
} from '../../../core/model/notification.ts';
import { asRead, type Guard, NEW, turnOf } from '../../../core/model/row-change.ts';
import { maskedWords } from '../../../core/model/text.ts';
import { type Sealer, SealRefusedError } from '../../sealing/sealer.ts';
import { recipientHash } from '../../signing/hashed-ids.ts';
import { asStored, contentItem, notLater, storedSequence } from '../delivery/content-items.ts';
import { maskRecords } from '../delivery/delivery-stores.ts';
import { amendedItem, fallbackAttributes, lifeOf, type Owned, placed } from '../delivery/successor-store.ts';
import type { Item } from '../table/item.ts';
import { query, readItem } from '../table/reads.ts';
import { updateGuarded } from '../table/statements.ts';
import { putGuarded } from '../table/writes.ts';

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

/** What is to be stored behind what is there. */
interface Planned {
  readonly item: Item;
  readonly stored: StoredContent;
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
    const { log_id, tenant_id } = owner;
    const hashed = content.recipient && recipientHash(await this.#options.hashKey(), tenant_id, content.recipient);
    const answer = { ...(hashed && { recipient_hash: hashed }) };
    // What is there shows by this put: as a rule nothing is, and it costs no more than one that asks nothing.
    const whole = content as NotificationContent;
    const first = owner.amends ? undefined : await this.#write(await this.#itemOf(owner, whole), [NEW]);
    if (first?.applied) return answer;
    // Not every emulator returns the item; AWS does.
    const read = async () => (await this.read(log_id)) ?? {};
    const from = first?.item ?? (await read());
    const plan = (there: Item) => this.#planBehind(owner, content, there);
    const change = (there: Item, planned: Planned) => this.#writeBehind(owner, there, planned);
    const { plan: planned, changed } = await changeUntil(read, plan, change, { from, tries: CHANGE_TRIES });
    if (planned === undefined) return undefined;
    if (changed === undefined) throw new Error(`Others kept changing the content of ${log_id}.`);
    return { ...answer, ...planned.stored };
  }

  /** @returns undefined: nothing is to be stored */
  async #planBehind(
    owner: ContentOwner,
    content: Partial<NotificationContent>,
    there: Item,
  ): Promise<Planned | undefined> {
    const { log_id, tenant_id, amends } = owner;
    const { sealer, hashKey } = this.#options;
    if (isErased(there)) throw new ErasedError(ERASED);
    // Seen once more, the image would bring back what an operator has corrected since.
    if (there['corrected_at'] && isSeenAgain(owner, there)) return undefined;
    if (begins(owner, there) && Object.keys(content).length > 0 && (await this.#isTakenIn(log_id))) return undefined;
    const life = await this.#lifeBehind(owner, there);
    const owned: Owned = { ...owner, ...(life !== undefined && { life }) };
    if (amends && there['tenant_id']?.S !== tenant_id) throw new RowUnstorableError('the content that it lacks');
    const of_another = await this.#isOfAnother(owner, content, there);
    const { recipient: _, ...others } = content;
    const item = amends
      ? await amendedItem(owned, of_another ? content : others, there, { sealer, hashKey })
      : await this.#itemOf(owned, { ...content, ...(of_another && maskedWords(content)) } as NotificationContent);
    return { item, stored: { ...(life !== undefined && { life }), ...(of_another && { of_another }) } };
  }

  /** @returns false where others have changed what was to be amended since it was read */
  async #writeBehind({ log_id, sequence, amends }: ContentOwner, there: Item, { item, stored }: Planned) {
    const { client, tables } = this.#options;
    // Before the content: after a crash in between nothing is left that names the one of before.
    if (stored.of_another) await maskRecords(client, tables.notification_retry_log, log_id);
    const kept = amends ? asStored(there) : [];
    const guards = notLater(sequence, stored.life).map((guard) => [...guard, ...kept]);
    // If the content of a later image is stored already, the update of this image's row finds the row changed.
    const { applied, item: other } = await this.#write(item, guards);
    if (applied) return true;
    const since = other ?? (await this.read(log_id)) ?? {};
    if (isErased(since)) throw new ErasedError(ERASED);
    return !amends || JSON.stringify(asStored(since)) === JSON.stringify(asStored(there));
  }

  /** Whether the content that is stored is another recipient's. */
  async #isOfAnother({ tenant_id, log_id }: ContentOwner, { recipient }: Partial<NotificationContent>, there: Item) {
    const sealed = there['encrypted_recipient']?.S;
    if (recipient === undefined || sealed === undefined) return false;
    const owner = { tenant_id, purpose: SEALED.recipients, id: log_id };
    try {
      return (await this.#options.sealer.open(owner, sealed)) !== recipient;
    } catch (error) {
      if (error instanceof SealRefusedError) return true;
      throw error;
    }
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
