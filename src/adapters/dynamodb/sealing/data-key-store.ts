import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DataKeyStore } from '../../sealing/data-keys.ts';
import { putGuarded } from '../table/guarded-update.ts';
import { type Item, toItem } from '../table/item.ts';
import { getItem } from '../table/reads.ts';

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
