import { type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { AddressFacts } from '../../../core/newsletter/model/member.ts';
import type { MemberStore } from '../../../core/newsletter/model/ports.ts';
import { getItems } from '../table/batch.ts';
import { ifConditionHolds } from '../table/conditional-write.ts';
import { type Item, toValue } from '../table/item.ts';
import { factsKey, hashIn, toKey } from './member-keys.ts';

/** One attribute per newsletter, so that one update adds or removes one without reading the others. */
const UNSUBSCRIBED = 'unsubscribed#';

type FactsStore = Pick<MemberStore, 'facts' | 'suppress' | 'unsubscribe' | 'resubscribe' | 'unsuppress'>;

/** The facts of addresses in the table members. They never expire. */
export function createAddressFacts(client: DynamoDBClient, table: string): FactsStore {
  /** Sets attributes that are absent; earlier ones stay. */
  const add = async (tenant_id: string, email_hash: string, attributes: Readonly<Record<string, unknown>>) => {
    const entries = Object.entries(attributes);
    await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: toKey(factsKey(tenant_id, email_hash)),
        UpdateExpression: `SET tenant_id = :tenant, ${entries.map((_, i) => `#a${i} = if_not_exists(#a${i}, :a${i})`).join(', ')}`,
        ExpressionAttributeNames: Object.fromEntries(entries.map(([name], i) => [`#a${i}`, name])),
        ExpressionAttributeValues: {
          ':tenant': { S: tenant_id },
          ...Object.fromEntries(entries.map(([, value], i) => [`:a${i}`, toValue(value)])),
        },
      }),
    );
  };

  const remove = async (tenant_id: string, email_hash: string, attributes: readonly string[]) => {
    const update = new UpdateItemCommand({
      TableName: table,
      Key: toKey(factsKey(tenant_id, email_hash)),
      UpdateExpression: `REMOVE ${attributes.map((_, i) => `#a${i}`).join(', ')}`,
      ConditionExpression: 'attribute_exists(tenant_id)',
      ExpressionAttributeNames: Object.fromEntries(attributes.map((name, i) => [`#a${i}`, name])),
    });
    await ifConditionHolds(client.send(update), undefined);
  };

  return {
    async facts(tenant_id, email_hashes) {
      if (email_hashes.length === 0) return new Map();
      const keys = [...new Set(email_hashes)].map((email_hash) => toKey(factsKey(tenant_id, email_hash)));
      const found = (await getItems(client, table, keys, { consistent: true })).flatMap((item) => toFacts(item) ?? []);
      return new Map(found.map((facts) => [facts.email_hash, facts]));
    },
    async suppress(tenant_id, email_hash, suppressed) {
      const isLasting = suppressed.reason !== 'bounced';
      const update = new UpdateItemCommand({
        TableName: table,
        Key: toKey(factsKey(tenant_id, email_hash)),
        // One attribute for reason and time, so that two reporters cannot mix them.
        UpdateExpression: 'SET tenant_id = :tenant, suppressed = :suppressed',
        ConditionExpression: `attribute_not_exists(suppressed)${isLasting ? ' OR suppressed.#reason = :bounced' : ''}`,
        ...(isLasting && { ExpressionAttributeNames: { '#reason': 'reason' } }),
        ExpressionAttributeValues: {
          ':tenant': { S: tenant_id },
          ':suppressed': toValue(suppressed),
          ...(isLasting && { ':bounced': { S: 'bounced' } }),
        },
      });
      await ifConditionHolds(client.send(update), undefined);
    },
    unsuppress: (tenant_id, email_hash) => remove(tenant_id, email_hash, ['suppressed']),
    unsubscribe: (tenant_id, email_hash, newsletter_id, at) =>
      add(tenant_id, email_hash, { [`${UNSUBSCRIBED}${newsletter_id}`]: at }),
    resubscribe: (tenant_id, email_hash, newsletter_id) =>
      remove(tenant_id, email_hash, [`${UNSUBSCRIBED}${newsletter_id}`]),
  };
}

/** The columns that decide whether mail of a newsletter may go to an address. */
export function factsColumns(newsletter_id: string): readonly string[] {
  return ['tenant_id', 'suppressed', `${UNSUBSCRIBED}${newsletter_id}`];
}

/** Undefined when every fact was lifted. */
export function toFacts(item: Item): AddressFacts | undefined {
  const { item: key, tenant_id, suppressed, ...rest } = unmarshall(item);
  const unsubscribed = Object.entries(rest)
    .filter(([name]) => name.startsWith(UNSUBSCRIBED))
    .map(([name, at]) => [name.slice(UNSUBSCRIBED.length), at]);
  if (suppressed === undefined && unsubscribed.length === 0) return undefined;
  return {
    tenant_id,
    email_hash: hashIn(key),
    ...(suppressed !== undefined && { suppressed }),
    unsubscribed: Object.fromEntries(unsubscribed),
  };
}
