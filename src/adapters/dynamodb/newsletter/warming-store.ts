import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import type { DomainWarming, WarmingStore } from '../../../core/newsletter/warming/domain-warming.ts';
import { WARMING_KIND } from '../schema.ts';
import type { Item } from '../table/item.ts';
import { getItem } from '../table/reads.ts';
import { changeVersioned } from '../table/writes.ts';

/** WarmingStore on PipelineState: one item per sending domain. */
export function createWarmingStore(client: DynamoDBClient, table: string, clock: Clock): WarmingStore {
  const keyOf = (domain: string) => ({ kind: { S: WARMING_KIND }, id: { S: domain } });
  return {
    async read(domain) {
      const item = await getItem(client, table, keyOf(domain));
      return item && toWarming(item);
    },
    async write(warming) {
      const { domain, version: _, ...set } = warming;
      const changed = await changeVersioned(client, {
        table,
        key: keyOf(domain),
        was: warming,
        change: { set },
        stored: { set: { ...set, expires_at: expiresAt(clock()) }, remove: [] },
        fromItem: toWarming,
      });
      return changed !== undefined;
    },
  };
}

function toWarming(item: Item): DomainWarming {
  const { kind: _, id, expires_at: __, ...rest } = unmarshall(item);
  return { ...rest, domain: id } as DomainWarming;
}
