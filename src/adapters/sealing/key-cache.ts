import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../core/model/time.ts';

/** So long a key is used after KMS was asked for it: who loses the right to it, or the key itself, can read no longer. */
const TTL_MS = 3_600_000;
/** About 2 MB. */
const MAX_KEYS = 10_000;

export interface KeyCache {
  /** The key of a name, loaded when it is not known; undefined when `load` finds none. */
  get(name: string, load: () => Promise<KeyObject | undefined>): Promise<KeyObject | undefined>;
  /** The same for a `make` that always has a key. */
  getOrMake(name: string, make: () => Promise<KeyObject>): Promise<KeyObject>;
}

/**
 * Keys in memory. Simultaneous callers share one load, whether they look for the key or make it. Only a key is
 * remembered: neither a failure nor a missing key is.
 */
export function createKeyCache(clock: Clock): KeyCache {
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
