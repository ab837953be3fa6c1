import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { isOwnWrite } from '../../../core/model/row-change.ts';
import type { Change } from '../../../core/newsletter/model/ports.ts';
import { updateExpression } from '../table/calls.ts';
import type { Item } from '../table/item.ts';

/** How long newsletters' rows are kept after they were written, in days; unsubscribe links end with them. */
const KEPT_DAYS = 2 * 365;

export function expiresAt(now: Date, days = KEPT_DAYS): number {
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
  const update = updateExpression({ set: { ...set, version: was.version + 1 }, remove });
  try {
    await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: key,
        UpdateExpression: update.expression,
        ConditionExpression: was.version === 0 ? 'attribute_not_exists(#version)' : '#version = :was',
        ExpressionAttributeNames: { ...update.names, '#version': 'version' },
        ExpressionAttributeValues: {
          ...update.values,
          ...(was.version > 0 && { ':was': { N: String(was.version) } }),
        },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
    return changedItem(was, change);
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    // Emulators do not return the item of a failed condition; AWS does.
    const item = error.Item ?? (await readVersioned(client, table, key));
    const found = item && fromItem(item);
    return found && isOwnWrite(found, was, change) ? found : undefined;
  }
}

/** What the version proves: the item was the one that was read, so nobody has to send it back. */
function changedItem<T extends { readonly version: number }>(was: T, { set, remove = [] }: Change<T>): T {
  const kept = Object.entries(set).filter(([, value]) => value !== undefined);
  const next: Record<string, unknown> = { ...was, ...Object.fromEntries(kept), version: was.version + 1 };
  for (const name of remove) delete next[String(name)];
  return next as T;
}

/** Reads an item consistently. */
export async function readVersioned(client: DynamoDBClient, table: string, key: Item): Promise<Item | undefined> {
  const { Item } = await client.send(new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }));
  return Item;
}
