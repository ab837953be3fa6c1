import { isOwnWrite } from '../../../core/newsletter/model/own-write.ts';
import type { Change } from '../../../core/newsletter/model/ports.ts';

/** Items with a version each, as DynamoDB keeps them: read and written by value. */
export class VersionedItems<T extends { readonly version: number }> {
  readonly #items = new Map<string, T>();

  get(key: string): T | undefined {
    return this.#items.get(key);
  }

  put(key: string, item: T): void {
    this.#items.set(key, structuredClone(item));
  }

  delete(key: string): void {
    this.#items.delete(key);
  }

  /** The items whose keys begin with the prefix, by key. */
  list(prefix = ''): readonly T[] {
    const found = [...this.#items].filter(([key]) => key.startsWith(prefix));
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
  }

  /** Makes the change if the item still has the version it was read with, or if it made the change already. */
  change(key: string, was: { readonly version: number }, change: Change<T>): T | undefined {
    const stored = this.#items.get(key);
    if (stored === undefined) return undefined;
    if (stored.version !== was.version) return isOwnWrite(stored, was, change) ? stored : undefined;
    const set = Object.entries(change.set).filter(([, value]) => value !== undefined);
    const next: Record<string, unknown> = { ...stored, ...Object.fromEntries(set), version: was.version + 1 };
    for (const name of change.remove ?? []) delete next[String(name)];
    const item = structuredClone(next) as unknown as T;
    this.#items.set(key, item);
    return item;
  }
}
