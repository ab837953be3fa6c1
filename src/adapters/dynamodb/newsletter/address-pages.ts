import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { isThere } from '../../../core/model/row-change.ts';
import type { AddressFacts, Gone, StoredMember } from '../../../core/newsletter/model/member.ts';
import type { AddressEntry, MemberStore, Move } from '../../../core/newsletter/model/ports.ts';
import type { Item } from '../table/item.ts';
import { getItems, queryAll, queryPages } from '../table/reads.ts';
import { updateItem } from '../table/writes.ts';
import {
  addressShard,
  behind,
  factsKey,
  hashIn,
  isFacts,
  memberIn,
  PARTITIONS,
  suppressible,
  timeOf,
  toKey,
  toLocated,
} from './member-items.ts';

interface Entry<M> {
  readonly email_hash: string;
  readonly members: M[];
  facts?: AddressFacts;
  moves?: Map<string, readonly Move[]>;
  left?: Map<string, number>;
}

/** Items of a page: a page of 1 MB becomes 20 MB of objects, and two are in memory. */
const PAGE_ITEMS = 500;

export interface AddressQuery<M> {
  readonly table: string;
  readonly tenant_id: string;
  /** Only addresses after this hash. */
  readonly after?: string | undefined;
  /** Columns of members and facts; absent: all. */
  readonly columns?: readonly string[];
  readonly toMember: (item: Item) => M | undefined;
  /** Absent: moves are not asked for. */
  readonly toMoves?: (item: Item) => readonly Move[];
  /** Who left is asked for. */
  readonly withLeft?: true;
}

/** All addresses of a tenant in the order of their hashes. Reads the next page while one is worked on. */
export async function* readAddresses<M>(
  client: DynamoDBClient,
  query: AddressQuery<M>,
): AsyncGenerator<readonly AddressEntry<M>[]> {
  let open: Entry<M> | undefined;
  for await (const items of oneAhead(pagesOf(client, query))) {
    const entries: Entry<M>[] = open === undefined ? [] : [open];
    for (const item of items) add(entries, item, query);
    // The next page may have more of the last address.
    open = entries.pop();
    const page = entries.filter(isTold);
    // Marks of deleted members are passed over; their last one says how far the reading is.
    if (entries.length > 0) yield page.length > 0 ? page : entries.slice(-1);
  }
  if (open !== undefined && isTold(open)) yield [open];
}

async function* pagesOf<M>(
  client: DynamoDBClient,
  { table, tenant_id, after = '', columns }: AddressQuery<M>,
): AsyncGenerator<readonly Item[]> {
  for (const partition of PARTITIONS) {
    if (partition < after.charAt(0)) continue;
    const begins = partition === after.charAt(0) ? behind(after) : '-';
    const pages = queryPages(client, {
      table,
      key: { shard: addressShard(tenant_id, partition) },
      range: ['item', '>=', begins],
      // A member who was imported a moment ago gets the next email.
      consistent: true,
      limit: PAGE_ITEMS,
      ...(columns && { columns }),
    });
    for await (const { items } of pages) yield items;
  }
}

/** Asks for the next value before it gives one. A failure comes in its turn. */
async function* oneAhead<T>(values: AsyncGenerator<T>): AsyncGenerator<T> {
  const ask = () => {
    const next = values.next();
    next.catch(() => undefined);
    return next;
  };
  for (let next = await ask(); !next.done; ) {
    const following = ask();
    yield next.value;
    next = await following;
  }
}

/** Everything of one address; undefined when there is nothing. */
export async function readAddress(
  client: DynamoDBClient,
  table: string,
  tenant_id: string,
  email_hash: string,
  toMoves: (item: Item) => readonly Move[] = () => [],
): Promise<AddressEntry | undefined> {
  const key = { shard: addressShard(tenant_id, email_hash.charAt(0)) };
  const range = ['item', 'between', email_hash, behind(email_hash)] as const;
  const entries: Entry<StoredMember>[] = [];
  const items = await queryAll(client, { table, key, range, consistent: true });
  for (const item of items) add(entries, item, { tenant_id, toMember: toLocated, toMoves, withLeft: true });
  return entries.find(isInUse);
}

function add<M>(
  entries: Entry<M>[],
  item: Item,
  read: Pick<AddressQuery<M>, 'tenant_id' | 'toMember' | 'toMoves' | 'withLeft'>,
): void {
  const key = item['item']?.S ?? '';
  const email_hash = hashIn(key);
  let entry = entries.at(-1);
  if (entry?.email_hash !== email_hash) {
    entry = { email_hash, members: [] };
    entries.push(entry);
  }
  if (isFacts(key)) {
    const facts = toFacts(item, read.tenant_id);
    if (facts !== undefined) entry.facts = facts;
  } else {
    const member = read.toMember(item);
    if (member !== undefined) entry.members.push(member);
    else if (read.withLeft) entry.left = (entry.left ?? new Map()).set(memberIn(key), timeOf(item));
    const moves = item['moves'] && read.toMoves?.(item);
    if (moves?.length) entry.moves = (entry.moves ?? new Map()).set(memberIn(key), moves);
  }
}

/** Not only marks of members that are gone. */
const isInUse = ({ members, facts }: Entry<unknown>): boolean => members.length > 0 || facts !== undefined;

const isTold = (entry: Entry<unknown>) => isInUse(entry) || entry.moves !== undefined;

/** One attribute per newsletter, so that one update adds or removes one without reading the others. */
const UNSUBSCRIBED = 'unsubscribed#';
const GONE = 'gone#';

type FactsStore = Pick<
  MemberStore,
  'facts' | 'suppress' | 'unsubscribe' | 'resubscribe' | 'unsuppress' | 'markGone' | 'liftGone'
>;

/** The facts of addresses in the table members. They never expire. */
export function createAddressFacts(client: DynamoDBClient, table: string): FactsStore {
  const remove = async (tenant_id: string, email_hash: string, attributes: readonly string[]) => {
    const change = { remove: attributes };
    await updateItem(client, table, toKey(factsKey(tenant_id, email_hash)), change, [isThere('tenant_id')]);
  };

  return {
    async facts(tenant_id, email_hashes) {
      if (email_hashes.length === 0) return new Map();
      const keys = [...new Set(email_hashes)].map((email_hash) => toKey(factsKey(tenant_id, email_hash)));
      const found = (await getItems(client, table, keys, { consistent: true })).flatMap(
        (item) => toFacts(item, tenant_id, { withGone: true }) ?? [],
      );
      return new Map(found.map((facts) => [facts.email_hash, facts]));
    },
    async suppress(tenant_id, email_hash, suppressed) {
      const Key = toKey(factsKey(tenant_id, email_hash));
      // One attribute for reason and time, so that two reporters cannot mix them.
      await updateItem(client, table, Key, { set: { tenant_id, suppressed } }, suppressible(suppressed.reason));
    },
    unsuppress: (tenant_id, email_hash) => remove(tenant_id, email_hash, ['suppressed']),
    async unsubscribe(tenant_id, email_hash, newsletter_id, at) {
      // An earlier one stays.
      const change = { set: { tenant_id }, once: { [`${UNSUBSCRIBED}${newsletter_id}`]: at } };
      await updateItem(client, table, toKey(factsKey(tenant_id, email_hash)), change);
    },
    resubscribe: (tenant_id, email_hash, newsletter_id) =>
      remove(tenant_id, email_hash, [`${UNSUBSCRIBED}${newsletter_id}`]),
    async markGone(tenant_id, email_hash, newsletter_ids, gone) {
      const marks = Object.fromEntries(newsletter_ids.map((newsletter_id) => [`${GONE}${newsletter_id}`, gone]));
      await updateItem(client, table, toKey(factsKey(tenant_id, email_hash)), { set: { tenant_id, ...marks } });
    },
    async liftGone(tenant_id, email_hash, newsletter_id, at) {
      const column = `${GONE}${newsletter_id}`;
      const Key = toKey(factsKey(tenant_id, email_hash));
      await updateItem(client, table, Key, { remove: [column] }, [[[`${column}.at`, '=', at]]]);
    },
  };
}

/** The columns that decide whether mail of a newsletter may go to an address. */
export function factsColumns(newsletter_id: string): readonly string[] {
  return ['suppressed', `${UNSUBSCRIBED}${newsletter_id}`];
}

/** Undefined when every fact was lifted. An address of which only a mark is left is not known to anybody but `facts`. */
function toFacts(item: Item, tenant_id: string, { withGone = false } = {}): AddressFacts | undefined {
  const { item: key, suppressed, ...rest } = unmarshall(item);
  const unsubscribed = byNewsletter<string>(rest, UNSUBSCRIBED);
  const gone = withGone ? byNewsletter<Gone>(rest, GONE) : {};
  const hasGone = Object.keys(gone).length > 0;
  if (suppressed === undefined && Object.keys(unsubscribed).length === 0 && !hasGone) return undefined;
  return {
    tenant_id,
    email_hash: hashIn(key),
    ...(suppressed !== undefined && { suppressed }),
    unsubscribed,
    ...(hasGone && { gone }),
  };
}

function byNewsletter<T>(columns: Readonly<Record<string, unknown>>, prefix: string): Readonly<Record<string, T>> {
  const found = Object.entries(columns).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(found.map(([name, value]) => [name.slice(prefix.length), value as T]));
}
