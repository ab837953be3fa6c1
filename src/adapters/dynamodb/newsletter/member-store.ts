import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../../core/model/time.ts';
import type { AudienceQuery, MemberStore } from '../../../core/newsletter/model/ports.ts';
import type { Item } from '../table/item.ts';
import { getItems } from '../table/reads.ts';
import { createAddressFacts, factsColumns, readAddress, readAddresses } from './address-pages.ts';
import {
  ADDRESSEE_COLUMNS,
  memberItemKey,
  movesOn,
  SUBJECT_COLUMNS,
  toAddressee,
  toMember,
  toSubject,
} from './member-items.ts';
import { MemberWriter } from './member-writer.ts';

/** MemberStore on the table members. */
export function createMemberStore(client: DynamoDBClient, table: string, clock: Clock): MemberStore {
  const writer = new MemberWriter(client, table, clock);
  const toMoves = (item: Item) => movesOn(item, clock());

  const find: MemberStore['find'] = async (tenant_id, member_ids) => {
    const places = await writer.places(tenant_id, member_ids);
    const present = [...places].filter(([, { gone }]) => !gone);
    const keys = present.map(([member_id, pointer]) => memberItemKey(tenant_id, member_id, pointer));
    const items = keys.length === 0 ? [] : await getItems(client, table, keys, { consistent: true });
    return { members: items.flatMap((item) => toMember(item) ?? []), places };
  };

  return {
    ...createAddressFacts(client, table),
    address: (tenant_id, email_hash) => readAddress(client, table, tenant_id, email_hash, toMoves),
    addresses: (tenant_id, after) => readAddresses(client, { table, tenant_id, after, toMember, toMoves }),
    audience: (query) => readAddresses(client, { table, ...readOf(query, SUBJECT_COLUMNS), toMember: toSubject }),
    addressees: (query, after) => {
      const toMember = (item: Item) => toAddressee(item, query.tenant_id);
      const read = { table, ...readOf(query, ADDRESSEE_COLUMNS), after, toMember, toMoves };
      return readAddresses(client, { ...read, withLeft: true });
    },
    find,

    async read(tenant_id, member_id) {
      // A move between the two reads leaves a mark where the item was: the second look finds where it went.
      const [found] = (await find(tenant_id, [member_id])).members;
      return found ?? (await find(tenant_id, [member_id])).members[0];
    },

    upsert: (members, found) => writer.upsert(members, found),
    settleMove: (tenant_id, member_id, place) => writer.settleMove(tenant_id, member_id, place),
    remove: (tenant_id, member_id) => writer.remove(tenant_id, member_id),
  };
}

function readOf({ tenant_id, newsletter_id, fields }: AudienceQuery, columns: readonly string[]) {
  // Which newsletters an address has unsubscribed from is in the names of columns.
  if (fields.has('newsletters')) return { tenant_id };
  return { tenant_id, columns: [...new Set([...columns, ...fields, ...factsColumns(newsletter_id)])] };
}
