import { createHash } from 'node:crypto';
import type { AttributeValue, BatchStatementRequest } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Guard } from '../../../core/model/row-change.ts';
import type {
  Addressee,
  MemberStatus,
  SegmentSubject,
  StoredMember,
  Suppression,
} from '../../../core/newsletter/model/member.ts';
import type { MemberPlace, Move } from '../../../core/newsletter/model/ports.ts';
import { type Item, toItem, toValue } from '../table/item.ts';
import { whereOf } from '../table/statements.ts';
import { ofVersion } from '../table/writes.ts';

/** No later version of the member is there, nor its mark. */
export const notNewer = (version: number): Guard => [['version', 'absent or <=', version]];

/**
 * The first suppression of an address stays, but for a bounce: it does not move along with the person to another address,
 * as a complaint and an operator's decision do.
 */
export function suppressible(reason: Suppression['reason']): readonly Guard[] {
  const isFirst: Guard = [['suppressed', '=', undefined]];
  return reason === 'bounced' ? [isFirst] : [isFirst, [['suppressed.reason', '=', 'bounced']]];
}

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
export const hashIn = (item: string): string => item.slice(0, item.indexOf(SEPARATOR));

/** The member_id in the sort key of a member's item, or of its mark. */
export const memberIn = (item: string): string => item.slice(item.indexOf(MEMBER) + MEMBER.length);

export function isFacts(item: string): boolean {
  return item.endsWith(FACTS) && item.indexOf(SEPARATOR) === item.length - FACTS.length;
}

export function toKey({ shard, item }: MemberKey): Record<'shard' | 'item', AttributeValue> {
  return { shard: { S: shard }, item: { S: item } };
}

/** Otherwise the members of a tenant `a#id` would lie among the pointers of the tenant `a`. */
const escaped = (tenant_id: string): string => tenant_id.replaceAll('%', '%25').replaceAll(SEPARATOR, '%23');

/** Days that the mark of a deleted or moved member is kept: far longer than any write can be on its way. */
const MARK_DAYS = 30;

export const markExpiry = (now: Date): number => Math.floor(now.getTime() / 1000) + MARK_DAYS * 86_400;

export function pointerItem(tenant_id: string, member_id: string, pointer: MemberPlace): Item {
  return toItem({ ...pointerKey(tenant_id, member_id), tenant_id, ...pointer });
}

export function toPointer(item: Item): MemberPlace & { readonly member_id: string } {
  const { item: member_id, email_hash, member_uuid, created_at, version, gone, moved_from, moves } = unmarshall(item);
  return {
    member_id,
    email_hash,
    member_uuid,
    created_at,
    version,
    ...(gone && { gone }),
    ...(moved_from && { moved_from }),
    ...(moves && { moves }),
  };
}

/** A member's item without what its key says. */
export function memberItem(member: StoredMember, version: number, moves?: readonly Move[]): Item {
  return toItem({ ...keyOf(member), ...attributesOf(member), version, ...(moves && { moves }) });
}

/**
 * Marks the place where a member was, so that a late write cannot put it there again.
 * @param moves the one that left from here: of other addresses a mark, which outlives its member, says nothing
 */
export function markItem(key: MemberKey, version: number, now: Date, moves?: readonly Move[]): Item {
  return toItem({ ...key, version, gone: true, expires_at: markExpiry(now), ...(moves && { moves }) });
}

/** The moves on an item or a mark; none whose mark may have expired. */
export function movesOn(item: Item, now: Date): readonly Move[] {
  const known_from = now.getTime() - (MARK_DAYS - 1) * 86_400_000;
  const moves = (item['moves']?.L ?? []).map(({ M }) => ({ from: M?.['from']?.S ?? '', at: Number(M?.['at']?.N) }));
  return moves.filter(({ at }) => at > known_from);
}

/** Undefined for the mark of a member that was deleted or moved. */
export function toMember(item: Item): StoredMember | undefined {
  const located = toLocated(item);
  if (located === undefined) return undefined;
  const { came_at: _, ...member } = located;
  return member;
}

/** With when it came. */
export function toLocated(item: Item): StoredMember | undefined {
  const addressee = toAddressee(item, item['tenant_id']?.S ?? '');
  return addressee && { ...addressee, updated_at: item['updated_at']?.S ?? '' };
}

/** What is read of each member of a tenant for a count, beside the fields of the segment. */
export const SUBJECT_COLUMNS = ['item', 'gone', 'newsletters'] as const;

/**
 * What segments can ask for, empty where it was not read; undefined for a mark. Each attribute is read by itself:
 * `unmarshall` would be a fifth of the work of a preparation.
 */
export function toSubject(item: Item): SegmentSubject | undefined {
  if (item['gone']?.BOOL === true) return undefined;
  const text = (name: string) => item[name]?.S ?? '';
  return {
    member_id: memberIn(text('item')),
    status: text('status') as MemberStatus,
    labels: textsIn(item['labels']),
    newsletters: textsIn(item['newsletters']),
    created_at: text('created_at'),
  };
}

/** The same for a mailing. */
export const ADDRESSEE_COLUMNS = [...SUBJECT_COLUMNS, 'moves', 'version', 'member_uuid', 'sealed_identity'] as const;

export function toAddressee(item: Item, tenant_id: string): Addressee | undefined {
  const subject = toSubject(item);
  if (subject === undefined) return undefined;
  const text = (name: string) => item[name]?.S ?? '';
  return {
    ...subject,
    tenant_id,
    member_uuid: text('member_uuid'),
    email_hash: hashIn(text('item')),
    sealed_identity: text('sealed_identity'),
    came_at: timeOf(item),
  };
}

/** The version of an item, or of a mark, is when it was made there. */
export const timeOf = (item: Item): number => Number(item['version']?.N);

const textsIn = (list: AttributeValue | undefined): string[] => (list?.L ?? []).map(({ S = '' }) => S);

/** Replaces the member's item, if it is the one of this version. */
export function replaceStatement(table: string, member: StoredMember, version: number): BatchStatementRequest {
  const attributes = Object.entries(attributesOf(member));
  const { shard, item } = keyOf(member);
  const where = whereOf(ofVersion({ version }));
  return {
    Statement:
      `UPDATE "${table}" SET ${attributes.map(([name]) => `"${name}" = ?`).join(', ')} ` +
      `WHERE "shard" = ? AND "item" = ? AND ${where.text}`,
    Parameters: [...attributes.map(([, value]) => value), shard, item, ...where.values].map(toValue),
  };
}

function keyOf({ tenant_id, email_hash, member_id }: StoredMember): MemberKey {
  return memberKey(tenant_id, email_hash, member_id);
}

export function memberItemKey(tenant_id: string, member_id: string, { email_hash }: MemberPlace) {
  return toKey(memberKey(tenant_id, email_hash, member_id));
}

const attributesOf = ({
  email_hash: _,
  came_at: __,
  ...member
}: StoredMember): Omit<StoredMember, 'email_hash' | 'came_at'> => member;
