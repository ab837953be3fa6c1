import type { BatchStatementRequest, DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { changeUntil } from '../../../core/model/changes.ts';
import { groupsOf } from '../../../core/model/collections.ts';
import type { Clock } from '../../../core/model/time.ts';
import type { StoredMember } from '../../../core/newsletter/model/member.ts';
import {
  leftAddresses,
  type MemberPlace,
  type MemberStore,
  type Move,
  movesWith,
} from '../../../core/newsletter/model/ports.ts';
import { GatheredError } from '../../batching/gather.ts';
import { getItems } from '../table/reads.ts';
import { executeStatements, insertStatement, MAX_STATEMENTS } from '../table/statements.ts';
import { conditionOf, ofVersion, putGuarded, type StatementResult, transact, updateItem } from '../table/writes.ts';
import {
  markExpiry,
  markItem,
  memberItem,
  memberKey,
  notNewer,
  pointerItem,
  pointerKey,
  replaceStatement,
  toKey,
  toPointer,
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
 * The writes of members. The pointer of a member is written first. The member's item is written only if no later version
 * of it, or its mark, is there (docs/decisions/newsletters/members-and-segments.md#0101).
 */
export class MemberWriter implements Pick<MemberStore, 'upsert' | 'settleMove' | 'remove'> {
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #clock: Clock;

  constructor(client: DynamoDBClient, table: string, clock: Clock) {
    this.#client = client;
    this.#table = table;
    this.#clock = clock;
  }

  /** Where members are, by their ids; those that are gone, too. */
  async places(tenant_id: string, member_ids: readonly string[]): Promise<Map<string, MemberPlace>> {
    const keys = [...new Set(member_ids)].map((member_id) => toKey(pointerKey(tenant_id, member_id)));
    const found = keys.length === 0 ? [] : await getItems(this.#client, this.#table, keys, { consistent: true });
    return new Map(found.map(toPointer).map(({ member_id, ...pointer }) => [member_id, pointer]));
  }

  async upsert(members: readonly StoredMember[], found?: Parameters<MemberStore['upsert']>[1]): Promise<void> {
    const [first] = members;
    let open = [...members];
    for (let round = 1; open.length > 0 && first !== undefined; round++) {
      if (round > ROUNDS) throw new Error(`${open.length} members are changed by many at once: upsert them again.`);
      const ids = open.map(({ member_id }) => member_id);
      // What was found before the first round may be old: then a version refuses the write, and the next round reads.
      const known = round === 1 ? found?.places : undefined;
      const pointers = known ?? (await this.places(first.tenant_id, ids));
      const { placed, done } = await this.#place(open, pointers);
      const stored = new Set([...done, ...(await this.#putItems(placed))]);
      open = open.filter(({ member_id }) => !stored.has(member_id));
    }
  }

  async settleMove(
    tenant_id: string,
    member_id: string,
    { version, moved_from }: Pick<MemberPlace, 'version' | 'moved_from'>,
  ): Promise<void> {
    if (moved_from === undefined) return;
    const key = toKey(pointerKey(tenant_id, member_id));
    await updateItem(this.#client, this.#table, key, { remove: ['moved_from'] }, [ofVersion({ version })]);
  }

  async remove(tenant_id: string, member_id: string): Promise<boolean> {
    const read = async () => (await this.places(tenant_id, [member_id])).get(member_id);
    const without = ({ moved_from: _, ...left }: MemberPlace) =>
      left.gone ? undefined : { ...left, version: this.#later(left), gone: true };
    const remove = (pointer: MemberPlace, place: MemberPlace) => {
      const expires_at = { N: String(markExpiry(this.#clock())) };
      const gone = { ...pointerItem(tenant_id, member_id, place), expires_at };
      const mark = markItem(memberKey(tenant_id, place.email_hash, member_id), place.version, this.#clock());
      return this.#transact([
        { Put: { TableName: this.#table, Item: gone, ...conditionOf([ofVersion(pointer)]) } },
        { Put: { TableName: this.#table, Item: mark } },
      ]);
    };
    const { plan, changed } = await changeUntil(read, without, remove, { tries: ROUNDS });
    if (plan !== undefined && !changed) throw new Error('The member is changed by many at once: delete it again.');
    return plan !== undefined;
  }

  /** Writes the pointers. Members that are missing in the answer met another change, or are stored already. */
  async #place(members: readonly StoredMember[], pointers: ReadonlyMap<string, MemberPlace>) {
    const placed: Placed[] = [];
    const done: string[] = [];
    const fresh: { readonly member: StoredMember; readonly version: number }[] = [];
    for (const member of members) {
      const pointer = pointers.get(member.member_id);
      if (pointer === undefined) fresh.push({ member, version: this.#clock().getTime() });
      else if (pointer.email_hash !== member.email_hash) {
        if (await this.#move(member, pointer)) done.push(member.member_id);
      } else if (pointer.gone) placed.push(...[await this.#revive(member, pointer)].filter((one) => one !== undefined));
      else {
        const { member_uuid, created_at, version } = pointer;
        placed.push({ member: { ...member, member_uuid, created_at }, version, kept: true });
      }
    }
    const inserts = fresh.map(({ member, version }) => {
      const { tenant_id, member_id, email_hash, member_uuid, created_at } = member;
      const item = pointerItem(tenant_id, member_id, { email_hash, member_uuid, created_at, version });
      return insertStatement(this.#table, item);
    });
    const results = await this.#executeAll(inserts);
    for (const [i, one] of fresh.entries()) if (applied(results[i])) placed.push({ ...one, kept: false });
    return { placed, done };
  }

  /**
   * Moves a member to another address: three items in one transaction. One that was deleted comes back as a new member,
   * but mailings that are prepared just now still know it by its id.
   */
  async #move(member: StoredMember, from: MemberPlace): Promise<boolean> {
    const { tenant_id, member_id, email_hash } = member;
    const { member_uuid, created_at } = from.gone ? member : from;
    const version = this.#later(from);
    const moved_from = from.gone ? undefined : leftAddresses(from, email_hash);
    const moves = movesWith(from, version);
    const place = { email_hash, member_uuid, created_at, version, ...(moved_from && { moved_from }), moves };
    const pointer = pointerItem(tenant_id, member_id, place);
    const left = memberKey(tenant_id, from.email_hash, member_id);
    const mark = markItem(left, version, this.#clock(), moves.slice(-1));
    const item = memberItem({ ...member, member_uuid, created_at }, version, moves);
    const TableName = this.#table;
    return this.#transact([
      { Put: { TableName, Item: pointer, ...conditionOf([ofVersion(from)]) } },
      { Put: { TableName, Item: mark } },
      { Put: { TableName, Item: item } },
    ]);
  }

  async #revive(member: StoredMember, gone: MemberPlace): Promise<Placed | undefined> {
    const { tenant_id, member_id, email_hash, member_uuid, created_at } = member;
    const version = this.#later(gone);
    const moves = gone.moves && { moves: gone.moves };
    const item = pointerItem(tenant_id, member_id, { email_hash, member_uuid, created_at, version, ...moves });
    const { applied } = await putGuarded(this.#client, this.#table, item, [ofVersion(gone)]);
    return applied ? { member, version, kept: false, ...moves } : undefined;
  }

  /** Writes the items of members whose pointer leads there. Returns the ids of those that are stored. */
  async #putItems(placed: readonly Placed[]): Promise<string[]> {
    const statements = placed.map(({ member, version, kept, moves }) =>
      kept
        ? replaceStatement(this.#table, member, version)
        : insertStatement(this.#table, memberItem(member, version, moves)),
    );
    const results = await this.#executeAll(statements);
    const stored = await Promise.all(
      placed.map(async ({ member, version, moves }, i) => {
        if (applied(results[i])) return [member.member_id];
        // The item is missing because its writer died, or an older mark is in its place.
        const item = memberItem(member, version, moves);
        const put = await putGuarded(this.#client, this.#table, item, [notNewer(version)]);
        return put.applied ? [member.member_id] : [];
      }),
    );
    return stored.flat();
  }

  async #executeAll(statements: readonly BatchStatementRequest[]) {
    const groups = groupsOf(statements, MAX_STATEMENTS);
    return (await Promise.all(groups.map((group) => executeStatements(this.#client, group)))).flat();
  }

  /** Makes one change of the pointer with its items. False when another change came between. */
  #transact(items: readonly TransactWriteItem[]): Promise<boolean> {
    return transact(this.#client, [...items]);
  }

  #later({ version }: Pick<MemberPlace, 'version'>): number {
    return Math.max(version + 1, this.#clock().getTime());
  }
}

function applied(result: StatementResult | GatheredError | undefined): boolean {
  if (result instanceof GatheredError) throw result.cause;
  if (result?.applied === false && result.invalid !== undefined) throw new Error(result.invalid);
  return result?.applied === true;
}
