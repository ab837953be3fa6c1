import { createHash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** The first characters of the hashes, in the order of their bytes: the partitions of a tenant's addresses. */
export const PARTITIONS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';

/** Separates the parts of a sort key; no hash holds it. */
const SEPARATOR = '#';
/** Sorts before the items of members, so that the facts of an address are read first. */
const FACTS = `${SEPARATOR}facts`;
const MEMBER = `${SEPARATOR}m${SEPARATOR}`;

export interface MemberKey {
  readonly shard: string;
  readonly item: string;
}

export function memberKey(tenant_id: string, email_hash: string, member_id: string): MemberKey {
  return { shard: addressShard(tenant_id, email_hash.charAt(0)), item: `${email_hash}${MEMBER}${member_id}` };
}

export function factsKey(tenant_id: string, email_hash: string): MemberKey {
  return { shard: addressShard(tenant_id, email_hash.charAt(0)), item: `${email_hash}${FACTS}` };
}

/** The key of the item that leads from a member's id to its address. Its partitions do not depend on how ids begin. */
export function pointerKey(tenant_id: string, member_id: string): MemberKey {
  const partition = createHash('sha256').update(member_id).digest('base64url').charAt(0);
  return { shard: `${escaped(tenant_id)}${SEPARATOR}id${SEPARATOR}${partition}`, item: member_id };
}

export function addressShard(tenant_id: string, partition: string): string {
  return `${escaped(tenant_id)}${SEPARATOR}${partition}`;
}

/** A sort key behind all items of the address, and before those of the next one. */
export function behind(email_hash: string): string {
  return `${email_hash}${String.fromCharCode(SEPARATOR.charCodeAt(0) + 1)}`;
}

/** The hash in the sort key of an address's item. */
export function hashIn(item: string): string {
  return item.slice(0, item.indexOf(SEPARATOR));
}

export function isFacts(item: string): boolean {
  return item.endsWith(FACTS) && item.indexOf(SEPARATOR) === item.length - FACTS.length;
}

export function toKey({ shard, item }: MemberKey): Record<'shard' | 'item', AttributeValue> {
  return { shard: { S: shard }, item: { S: item } };
}

/** Otherwise the members of a tenant `a#id` would lie among the pointers of the tenant `a`. */
function escaped(tenant_id: string): string {
  return tenant_id.replaceAll('%', '%25').replaceAll(SEPARATOR, '%23');
}
