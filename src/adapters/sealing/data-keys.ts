import { createSecretKey, type KeyObject } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SEALED } from '../../core/model/notification.ts';
import type { Clock } from '../../core/model/time.ts';
import { type Item, toItem } from '../dynamodb/table/item.ts';
import { getItem } from '../dynamodb/table/reads.ts';
import { putGuarded } from '../dynamodb/table/writes.ts';

export type SealPurpose = (typeof SEALED)[keyof typeof SEALED];

interface KeyOwner {
  readonly tenant_id: string;
  readonly purpose: SealPurpose;
}

/** Names a data key: what KMS authenticates with it, and writes into CloudTrail. */
export interface KeyContext extends KeyOwner {
  /** `<purpose>#<month>`, such as `recipient#2026-11`; unique within the tenant. */
  readonly key_id: string;
}

/** The table DataKeys: data keys in the form that only KMS can read. */
export interface DataKeyStore {
  find(tenant_id: string, key_id: string): Promise<Uint8Array | undefined>;
  /** Stores a wrapped key. @returns undefined when it was stored; otherwise the key that the id had before */
  add(key: KeyContext, wrapped: Uint8Array, at: Date): Promise<Uint8Array | undefined>;
}

/** KMS, or a local key in its place. */
export interface KeyWrap {
  /** Makes a data key of 256 bits. */
  make(context: KeyContext): Promise<{ readonly key: Uint8Array<ArrayBuffer>; readonly wrapped: Uint8Array }>;
  /** @throws when the key was wrapped in another context */
  unwrap(context: KeyContext, wrapped: Uint8Array): Promise<Uint8Array<ArrayBuffer>>;
}

export interface DataKeys {
  /** The key of the current month (UTC). The first caller of the month makes it. */
  current(owner: KeyOwner): Promise<{ readonly key_id: string; readonly key: KeyObject }>;
  /** Undefined when there is no such key. */
  find(owner: KeyOwner, key_id: string): Promise<KeyObject | undefined>;
}

export interface DataKeysDeps {
  readonly store: DataKeyStore;
  readonly wrap: KeyWrap;
  readonly clock?: Clock;
}

/** KMS is called at most once per data key and hour, also when a whole batch needs the key at the same moment. */
export function createDataKeys({ store, wrap, clock = () => new Date() }: DataKeysDeps): DataKeys {
  const cache = createKeyCache(clock);

  async function unwrap(context: KeyContext, wrapped: Uint8Array): Promise<KeyObject> {
    return imported(await wrap.unwrap(context, wrapped));
  }

  async function stored(context: KeyContext): Promise<KeyObject | undefined> {
    const wrapped = await store.find(context.tenant_id, context.key_id);
    return wrapped && unwrap(context, wrapped);
  }

  async function storedOrMade(context: KeyContext): Promise<KeyObject> {
    const found = await stored(context);
    if (found !== undefined) return found;
    const { key, wrapped } = await wrap.make(context);
    const first = await store.add(context, wrapped, clock());
    // Another instance was first, so its key counts. A put that the SDK repeated meets its own key.
    if (first !== undefined && !Buffer.from(first).equals(wrapped)) return unwrap(context, first);
    return imported(key);
  }

  return {
    async current({ tenant_id, purpose }) {
      const key_id = `${purpose}#${clock().toISOString().slice(0, 7)}`;
      const context = { tenant_id, purpose, key_id };
      return { key_id, key: await cache.getOrMake(nameOf(context), () => storedOrMade(context)) };
    },
    find({ tenant_id, purpose }, key_id) {
      const context = { tenant_id, purpose, key_id };
      return cache.get(nameOf(context), () => stored(context));
    },
  };
}

const nameOf = ({ tenant_id, key_id }: KeyContext): string => JSON.stringify([tenant_id, key_id]);

/** The bytes are overwritten, so that only node:crypto has the key. */
function imported(bytes: Uint8Array): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/** How long a key is used after KMS was asked for it: a right that was taken away ends within this time. */
const TTL_MS = 3_600_000;
/** About 2 MB. */
const MAX_KEYS = 10_000;

interface KeyCache {
  /** The key of a name, loaded when it is not known; undefined when `load` finds none. */
  get(name: string, load: () => Promise<KeyObject | undefined>): Promise<KeyObject | undefined>;
  /** The same for a `make` that always has a key. */
  getOrMake(name: string, make: () => Promise<KeyObject>): Promise<KeyObject>;
}

/** Simultaneous callers share one load. Only a key is remembered: neither a failure nor a missing key is. */
function createKeyCache(clock: Clock): KeyCache {
  /** In the order of their expiry, as all live equally long. */
  const keys = new Map<string, { readonly key: KeyObject; readonly until: number }>();
  const underWay = new Map<string, Promise<KeyObject | undefined>>();

  function known(name: string): KeyObject | undefined {
    const entry = keys.get(name);
    return entry !== undefined && clock().getTime() < entry.until ? entry.key : undefined;
  }

  function remember(name: string, key: KeyObject): void {
    const now = clock().getTime();
    keys.delete(name);
    for (const [oldest, { until }] of keys) {
      if (now < until && keys.size < MAX_KEYS) break;
      keys.delete(oldest);
    }
    keys.set(name, { key, until: now + TTL_MS });
  }

  function begin<T extends KeyObject | undefined>(name: string, load: () => Promise<T>): Promise<T> {
    const loading = load()
      .then((key) => {
        if (key !== undefined) remember(name, key);
        return key;
      })
      .finally(() => underWay.delete(name));
    underWay.set(name, loading);
    return loading;
  }

  return {
    async get(name, load) {
      return known(name) ?? underWay.get(name) ?? begin(name, load);
    },
    async getOrMake(name, make) {
      let running = underWay.get(name);
      // Somebody's search may end without a key; then the first of those who waited for it makes one.
      while (known(name) === undefined && running !== undefined) {
        const found = await running;
        if (found !== undefined) return found;
        running = underWay.get(name);
      }
      return known(name) ?? begin(name, make);
    },
  };
}

/** DataKeyStore on DataKeys. Items are never changed. */
export function createDataKeyStore(client: DynamoDBClient, TableName: string): DataKeyStore {
  async function find(tenant_id: string, key_id: string): Promise<Uint8Array | undefined> {
    // Consistent, because a message can be faster than the copies of the key that its recipient was sealed with.
    return wrappedKey(await getItem(client, TableName, toItem({ tenant_id, key_id })));
  }

  return {
    find,
    async add({ tenant_id, key_id }, wrapped, at) {
      const Item = { ...toItem({ tenant_id, key_id, created_at: at.toISOString() }), wrapped_key: { B: wrapped } };
      const { applied, item } = await putGuarded(client, TableName, Item, [[['key_id', '=', undefined]]]);
      if (applied) return undefined;
      // Not every emulator returns the item of a failed condition; AWS does.
      const first = wrappedKey(item) ?? (await find(tenant_id, key_id));
      if (first === undefined) throw new Error(`The data key ${key_id} was deleted a moment ago.`);
      return first;
    },
  };
}

const wrappedKey = (item: Item | undefined): Uint8Array | undefined => item?.['wrapped_key']?.B;
