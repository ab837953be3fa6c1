import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { isOwnWrite, ofVersion } from '../../../core/model/row-change.ts';
import type { Change } from '../../../core/newsletter/model/ports.ts';
import { updateItem } from '../table/guarded-update.ts';
import type { Item } from '../table/item.ts';
import { getItem } from '../table/reads.ts';

/** How long newsletters' rows are kept after they were written, in days; unsubscribe links end with them. */
const KEPT_DAYS = 2 * 365;

export function expiresAfter(now: Date, days = KEPT_DAYS): number {
  return Math.floor((now.getTime() + days * 86_400_000) / 1000);
}

export interface VersionedItem<T> {
  readonly table: string;
  readonly key: Item;
  /** The whole item as it was read. */
  readonly was: T;
  readonly change: Change<T>;
  /** Attributes of the change, as they are stored. */
  readonly stored?: { readonly set: Readonly<Record<string, unknown>>; readonly remove: readonly string[] };
  readonly fromItem: (item: Item) => T;
}

/**
 * Changes an item that still has the version it was read with, and sets the next one. A change that was applied before,
 * because its answer got lost, is answered like the first time; undefined when someone else changed the item.
 */
export async function changeVersioned<T extends { readonly version: number }>(
  client: DynamoDBClient,
  { table, key, was, change, stored, fromItem }: VersionedItem<T>,
): Promise<T | undefined> {
  const { set, remove } = stored ?? { set: change.set, remove: (change.remove ?? []).map(String) };
  const next = { set: { ...set, version: was.version + 1 }, remove };
  const { applied, item } = await updateItem(client, table, key, next, [ofVersion(was)]);
  if (applied) return changedItem(was, change);
  // Emulators do not return the item of a failed condition; AWS does.
  const present = item ?? (await getItem(client, table, key));
  const found = present && fromItem(present);
  return found && isOwnWrite(found, was, change) ? found : undefined;
}

/** What the version proves: the item was the one that was read, so nobody has to send it back. */
function changedItem<T extends { readonly version: number }>(was: T, { set, remove = [] }: Change<T>): T {
  const kept = Object.entries(set).filter(([, value]) => value !== undefined);
  const next: Record<string, unknown> = { ...was, ...Object.fromEntries(kept), version: was.version + 1 };
  for (const name of remove) delete next[String(name)];
  return next as T;
}
