import { isOwnWrite } from '../../../core/newsletter/model/own-write.ts';
import type { Change } from '../../../core/newsletter/model/ports.ts';

/** Items with a version each, as DynamoDB keeps them: read and written by value, and listed by partition. */
export class VersionedItems<T extends { readonly version: number }> {
  /** By partition: what a key begins with, up to its last `#`. */
  readonly #partitions = new Map<string, Map<string, T>>();

  get(key: string): T | undefined {
    return this.#partitions.get(partitionOf(key))?.get(key);
  }

  put(key: string, item: T): void {
    this.#keep(key, structuredClone(item));
  }

  delete(key: string): void {
    this.#partitions.get(partitionOf(key))?.delete(key);
  }

  /** The items of a partition, by key. */
  list(partition = ''): readonly T[] {
    const found = [...(this.#partitions.get(partition) ?? [])];
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
  }

  /** Makes the change if the item still has the version it was read with, or if it made the change already. */
  change(key: string, was: { readonly version: number }, change: Change<T>): T | undefined {
    const stored = this.get(key);
    if (stored === undefined) return undefined;
    if (stored.version !== was.version) return isOwnWrite(stored, was, change) ? stored : undefined;
    const set = Object.entries(change.set).filter(([, value]) => value !== undefined);
    const next: Record<string, unknown> = { ...stored, ...Object.fromEntries(set), version: was.version + 1 };
    for (const name of change.remove ?? []) delete next[String(name)];
    const item = structuredClone(next) as unknown as T;
    this.#keep(key, item);
    return item;
  }

  #keep(key: string, item: T): void {
    const partition = partitionOf(key);
    const items = this.#partitions.get(partition) ?? new Map<string, T>();
    this.#partitions.set(partition, items.set(key, item));
  }
}

function partitionOf(key: string): string {
  return key.slice(0, key.lastIndexOf('#') + 1);
}
