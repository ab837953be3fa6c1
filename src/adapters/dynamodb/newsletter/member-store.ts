import {
  type BatchStatementRequest,
  type DynamoDBClient,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { changeUntil } from '../../../core/model/changes/change-until.ts';
import { groupsOf } from '../../../core/model/groups.ts';
import type { Clock } from '../../../core/model/time.ts';
import type { StoredMember } from '../../../core/newsletter/model/member.ts';
import {
  type AudienceQuery,
  leftAddresses,
  type MemberPlace,
  type MemberStore,
  type Move,
  movesWith,
} from '../../../core/newsletter/model/ports.ts';
import { GatheredError } from '../../batching/gather.ts';
import {
  executeStatements,
  getItems,
  insertStatement,
  isConflict,
  MAX_STATEMENTS,
  type StatementResult,
} from '../table/calls.ts';
import { conditionOf, putGuarded, updateItem } from '../table/guarded-update.ts';
import { notNewer, ofVersion } from '../table/guards.ts';
import type { Item } from '../table/item.ts';
import { createAddressFacts, factsColumns, readAddress, readAddresses } from './address-pages.ts';
import {
  ADDRESSEE_COLUMNS,
  markExpiry,
  markItem,
  memberItem,
  memberItemKey,
  memberKey,
  movesOn,
  pointerItem,
  pointerKey,
  replaceStatement,
  SUBJECT_COLUMNS,
  toAddressee,
  toKey,
  toMember,
  toPointer,
  toSubject,
} from './member-items.ts';

/** How often a change is planned anew because another one of the same member came between. */
const ROUNDS = 6;

interface Placed {
  readonly member: StoredMember;
  readonly version: number;
  /** The pointer existed and leads to this address already. */
  readonly kept: boolean;
  /** Of a member who comes back. */
  readonly moves?: readonly Move[];
}

/**
 * MemberStore on the table members. The pointer of a member is written first. The member's item is written only if no
 * later version of it, or its mark, is there (docs/decisions/newsletters/members-and-segments.md#0101).
 */
export function createMemberStore(client: DynamoDBClient, table: string, clock: Clock): MemberStore {
  async function pointersOf(tenant_id: string, member_ids: readonly string[]): Promise<Map<string, MemberPlace>> {
    const keys = [...new Set(member_ids)].map((member_id) => toKey(pointerKey(tenant_id, member_id)));
    const found = keys.length === 0 ? [] : await getItems(client, table, keys, { consistent: true });
    return new Map(found.map(toPointer).map(({ member_id, ...pointer }) => [member_id, pointer]));
  }

  /** Makes one change of the pointer with its items. False when another change came between. */
  async function transact(items: readonly TransactWriteItem[]): Promise<boolean> {
    try {
      await client.send(new TransactWriteItemsCommand({ TransactItems: [...items] }));
      return true;
    } catch (error) {
      if (error instanceof TransactionCanceledException && isConflict(error)) return false;
      throw error;
    }
  }

  const later = ({ version }: Pick<MemberPlace, 'version'>) => Math.max(version + 1, clock().getTime());

  /**
   * Moves a member to another address: three items in one transaction. One that was deleted comes back as a new member,
   * but mailings that are prepared just now still know it by its id.
   */
  async function move(member: StoredMember, from: MemberPlace): Promise<boolean> {
    const { tenant_id, member_id, email_hash } = member;
    const { member_uuid, created_at } = from.gone ? member : from;
    const version = later(from);
    const moved_from = from.gone ? undefined : leftAddresses(from, email_hash);
    const moves = movesWith(from, version);
    const place = { email_hash, member_uuid, created_at, version, ...(moved_from && { moved_from }), moves };
    const pointer = pointerItem(tenant_id, member_id, place);
    const mark = markItem(memberKey(tenant_id, from.email_hash, member_id), version, clock(), moves.slice(-1));
    return transact([
      { Put: { TableName: table, Item: pointer, ...conditionOf([ofVersion(from)]) } },
      { Put: { TableName: table, Item: mark } },
      { Put: { TableName: table, Item: memberItem({ ...member, member_uuid, created_at }, version, moves) } },
    ]);
  }

  async function revive(member: StoredMember, gone: MemberPlace): Promise<Placed | undefined> {
    const { tenant_id, member_id, email_hash, member_uuid, created_at } = member;
    const version = later(gone);
    const moves = gone.moves && { moves: gone.moves };
    const item = pointerItem(tenant_id, member_id, { email_hash, member_uuid, created_at, version, ...moves });
    const { applied } = await putGuarded(client, table, item, [ofVersion(gone)]);
    return applied ? { member, version, kept: false, ...moves } : undefined;
  }

  async function executeAll(statements: readonly BatchStatementRequest[]) {
    const groups = groupsOf(statements, MAX_STATEMENTS);
    return (await Promise.all(groups.map((group) => executeStatements(client, group)))).flat();
  }

  /** Writes the pointers. Members that are missing in the answer met another change, or are stored already. */
  async function place(members: readonly StoredMember[], pointers: ReadonlyMap<string, MemberPlace>) {
    const placed: Placed[] = [];
    const done: string[] = [];
    const fresh: { readonly member: StoredMember; readonly version: number }[] = [];
    for (const member of members) {
      const pointer = pointers.get(member.member_id);
      if (pointer === undefined) fresh.push({ member, version: clock().getTime() });
      else if (pointer.email_hash !== member.email_hash) {
        if (await move(member, pointer)) done.push(member.member_id);
      } else if (pointer.gone) placed.push(...[await revive(member, pointer)].filter((one) => one !== undefined));
      else {
        const { member_uuid, created_at, version } = pointer;
        placed.push({ member: { ...member, member_uuid, created_at }, version, kept: true });
      }
    }
    const inserts = fresh.map(({ member, version }) => {
      const { tenant_id, member_id, email_hash, member_uuid, created_at } = member;
      return insertStatement(
        table,
        pointerItem(tenant_id, member_id, { email_hash, member_uuid, created_at, version }),
      );
    });
    const results = await executeAll(inserts);
    for (const [i, one] of fresh.entries()) if (applied(results[i])) placed.push({ ...one, kept: false });
    return { placed, done };
  }

  /** Writes the items of members whose pointer leads there. Returns the ids of those that are stored. */
  async function putItems(placed: readonly Placed[]): Promise<string[]> {
    const statements = placed.map(({ member, version, kept, moves }) =>
      kept ? replaceStatement(table, member, version) : insertStatement(table, memberItem(member, version, moves)),
    );
    const results = await executeAll(statements);
    const stored = await Promise.all(
      placed.map(async ({ member, version, moves }, i) => {
        if (applied(results[i])) return [member.member_id];
        // The item is missing because its writer died, or an older mark is in its place.
        const put = await putGuarded(client, table, memberItem(member, version, moves), [notNewer(version)]);
        return put.applied ? [member.member_id] : [];
      }),
    );
    return stored.flat();
  }

  const toMoves = (item: Item) => movesOn(item, clock());

  const store: MemberStore = {
    ...createAddressFacts(client, table),
    address: (tenant_id, email_hash) => readAddress(client, table, tenant_id, email_hash, toMoves),
    addresses: (tenant_id, after) => readAddresses(client, { table, tenant_id, after, toMember, toMoves }),
    audience: (query) => readAddresses(client, { table, ...readOf(query, SUBJECT_COLUMNS), toMember: toSubject }),
    addressees: (query, after) => {
      const toMember = (item: Item) => toAddressee(item, query.tenant_id);
      const read = { table, ...readOf(query, ADDRESSEE_COLUMNS), after, toMember, toMoves };
      return readAddresses(client, { ...read, withLeft: true });
    },

    async upsert(members, found) {
      const [first] = members;
      let open = [...members];
      for (let round = 1; open.length > 0 && first !== undefined; round++) {
        if (round > ROUNDS) throw new Error(`${open.length} members are changed by many at once: upsert them again.`);
        const ids = open.map(({ member_id }) => member_id);
        // What was found before the first round may be old: then a version refuses the write, and the next round reads.
        const known = round === 1 ? found?.places : undefined;
        const pointers = known ?? (await pointersOf(first.tenant_id, ids));
        const { placed, done } = await place(open, pointers);
        const stored = new Set([...done, ...(await putItems(placed))]);
        open = open.filter(({ member_id }) => !stored.has(member_id));
      }
    },

    async find(tenant_id, member_ids) {
      const places = await pointersOf(tenant_id, member_ids);
      const present = [...places].filter(([, { gone }]) => !gone);
      const keys = present.map(([member_id, pointer]) => memberItemKey(tenant_id, member_id, pointer));
      const items = keys.length === 0 ? [] : await getItems(client, table, keys, { consistent: true });
      return { members: items.flatMap((item) => toMember(item) ?? []), places };
    },

    async read(tenant_id, member_id) {
      // A move between the two reads leaves a mark where the item was: the second look finds where it went.
      const [found] = (await store.find(tenant_id, [member_id])).members;
      return found ?? (await store.find(tenant_id, [member_id])).members[0];
    },

    async settleMove(tenant_id, member_id, { version, moved_from }) {
      if (moved_from === undefined) return;
      const settled = { remove: ['moved_from'] };
      await updateItem(client, table, toKey(pointerKey(tenant_id, member_id)), settled, [ofVersion({ version })]);
    },

    async remove(tenant_id, member_id) {
      const read = async () => (await pointersOf(tenant_id, [member_id])).get(member_id);
      const without = ({ moved_from: _, ...left }: MemberPlace) =>
        left.gone ? undefined : { ...left, version: later(left), gone: true };
      const remove = (pointer: MemberPlace, place: MemberPlace) => {
        const expires_at = { N: String(markExpiry(clock())) };
        const gone = { ...pointerItem(tenant_id, member_id, place), expires_at };
        const mark = markItem(memberKey(tenant_id, place.email_hash, member_id), place.version, clock());
        return transact([
          { Put: { TableName: table, Item: gone, ...conditionOf([ofVersion(pointer)]) } },
          { Put: { TableName: table, Item: mark } },
        ]);
      };
      const { plan, changed } = await changeUntil(read, without, remove, { tries: ROUNDS });
      if (plan !== undefined && !changed) throw new Error('The member is changed by many at once: delete it again.');
      return plan !== undefined;
    },
  };
  return store;
}

function readOf({ tenant_id, newsletter_id, fields }: AudienceQuery, columns: readonly string[]) {
  // Which newsletters an address has unsubscribed from is in the names of columns.
  if (fields.has('newsletters')) return { tenant_id };
  return { tenant_id, columns: [...new Set([...columns, ...fields, ...factsColumns(newsletter_id)])] };
}

function applied(result: StatementResult | GatheredError | undefined): boolean {
  if (result instanceof GatheredError) throw result.cause;
  if (result?.applied === false && result.invalid !== undefined) throw new Error(result.invalid);
  return result?.applied === true;
}
