import { type DynamoDBClient, paginateQuery } from '@aws-sdk/client-dynamodb';
import type { AddressFacts, StoredMember } from '../../../core/newsletter/model/member.ts';
import type { AddressEntry } from '../../../core/newsletter/model/ports.ts';
import type { Item } from '../table/item.ts';
import { toFacts } from './address-facts.ts';
import { toMember } from './member-items.ts';
import { addressShard, behind, hashIn, isFacts, PARTITIONS } from './member-keys.ts';

interface Entry {
  readonly email_hash: string;
  readonly members: StoredMember[];
  facts?: AddressFacts;
}

/** All addresses of a tenant in the order of their hashes. Holds one page of 1 MB at a time. */
export async function* readAddresses(
  client: DynamoDBClient,
  table: string,
  tenant_id: string,
  after = '',
): AsyncGenerator<readonly AddressEntry[]> {
  for (const partition of PARTITIONS) {
    if (partition < after.charAt(0)) continue;
    const begins = partition === after.charAt(0) ? behind(after) : '-';
    const query = {
      TableName: table,
      KeyConditionExpression: '#shard = :shard AND #item >= :from',
      ExpressionAttributeNames: { '#shard': 'shard', '#item': 'item' },
      ExpressionAttributeValues: { ':shard': { S: addressShard(tenant_id, partition) }, ':from': { S: begins } },
      // A member who was imported a moment ago gets the next email.
      ConsistentRead: true,
    };
    let open: Entry | undefined;
    for await (const { Items = [] } of paginateQuery({ client }, query)) {
      const entries: Entry[] = open === undefined ? [] : [open];
      for (const item of Items) add(entries, item);
      // The next page may have more of the last address.
      open = entries.pop();
      const page = entries.filter(isInUse);
      if (page.length > 0) yield page;
    }
    if (open !== undefined && isInUse(open)) yield [open];
  }
}

/** Everything of one address; undefined when there is nothing. */
export async function readAddress(
  client: DynamoDBClient,
  table: string,
  tenant_id: string,
  email_hash: string,
): Promise<AddressEntry | undefined> {
  const query = {
    TableName: table,
    KeyConditionExpression: '#shard = :shard AND #item BETWEEN :from AND :to',
    ExpressionAttributeNames: { '#shard': 'shard', '#item': 'item' },
    ExpressionAttributeValues: {
      ':shard': { S: addressShard(tenant_id, email_hash.charAt(0)) },
      ':from': { S: email_hash },
      ':to': { S: behind(email_hash) },
    },
    ConsistentRead: true,
  };
  const entries: Entry[] = [];
  for await (const { Items = [] } of paginateQuery({ client }, query)) for (const item of Items) add(entries, item);
  return entries.find(isInUse);
}

function add(entries: Entry[], item: Item): void {
  const key = item['item']?.S ?? '';
  const email_hash = hashIn(key);
  let entry = entries.at(-1);
  if (entry?.email_hash !== email_hash) {
    entry = { email_hash, members: [] };
    entries.push(entry);
  }
  if (isFacts(key)) {
    const facts = toFacts(item);
    if (facts !== undefined) entry.facts = facts;
  } else {
    const member = toMember(item);
    if (member !== undefined) entry.members.push(member);
  }
}

/** Not only marks of members that are gone. */
function isInUse({ members, facts }: Entry): boolean {
  return members.length > 0 || facts !== undefined;
}
