import { suppressible } from '../../../src/adapters/dynamodb/newsletter/member-items.ts';
import { ofVersion } from '../../../src/adapters/dynamodb/table/writes.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type {
  Addressee,
  AddressFacts,
  MemberStatus,
  SegmentSubject,
  StoredMember,
} from '../../../src/core/newsletter/model/member.ts';
import {
  type AddressEntry,
  type AudienceQuery,
  leftAddresses,
  type MemberPlace,
  type MemberStore,
  type Move,
  movesWith,
} from '../../../src/core/newsletter/model/ports.ts';
import { holds, isAny } from './guards.ts';

const PAGE = 100;
const key = (tenant_id: string, id: string) => JSON.stringify([tenant_id, id]);
const markKey = (...place: [tenant_id: string, email_hash: string, member_id: string]) => JSON.stringify(place);

/** A member was deleted, or moved away, where it was. */
interface Mark {
  readonly tenant_id: string;
  readonly member_id: string;
  readonly at: number;
  readonly move?: Move;
}

/** MemberStore in memory: the twin of dynamodb/newsletter/member-store.ts. */
export function createMemoryMembers(clock: Clock = () => new Date()): MemberStore {
  const members = new Map<string, StoredMember>();
  const facts = new Map<string, AddressFacts>();
  const find = (tenant_id: string, member_id: string) => members.get(key(tenant_id, member_id));
  const places = new Map<string, MemberPlace>();
  /** Marks where members were. */
  const left = new Map<string, Mark>();
  const store: MemberStore = {
    ...factsIn(facts),

    async upsert(given) {
      for (const member of given) {
        const at = key(member.tenant_id, member.member_id);
        const { email_hash } = member;
        const { member_uuid, created_at } = members.get(at) ?? member;
        const before = places.get(at);
        const { came_at: _, ...rest } = member;
        members.set(at, { ...rest, member_uuid, created_at });
        if (before?.email_hash === email_hash && !before.gone) continue;
        const { tenant_id, member_id } = member;
        const version = Math.max((before?.version ?? 0) + 1, clock().getTime());
        const place = { email_hash, member_uuid, created_at, version };
        left.delete(markKey(tenant_id, email_hash, member_id));
        if (before === undefined || before.email_hash === email_hash) {
          places.set(at, { ...place, ...(before?.moves && { moves: before.moves }) });
          continue;
        }
        const move = { from: before.email_hash, at: version };
        left.set(markKey(tenant_id, before.email_hash, member_id), { tenant_id, member_id, at: version, move });
        const moved_from = before.gone ? undefined : leftAddresses(before, email_hash);
        places.set(at, { ...place, ...(moved_from && { moved_from }), moves: movesWith(before, version) });
      }
    },
    read: async (tenant_id, member_id) => find(tenant_id, member_id),
    async find(tenant_id, member_ids) {
      const ids = [...new Set(member_ids)];
      return {
        members: ids.flatMap((member_id) => find(tenant_id, member_id) ?? []),
        places: new Map(
          ids.flatMap((member_id) => {
            const place = places.get(key(tenant_id, member_id));
            return place === undefined ? [] : [[member_id, place] as const];
          }),
        ),
      };
    },
    async settleMove(tenant_id, member_id, { version }) {
      const at = key(tenant_id, member_id);
      const place = places.get(at);
      if (place === undefined || !holds(ofVersion({ version }), { ...place })) return;
      const { moved_from: _, ...settled } = place;
      places.set(at, settled);
    },
    async remove(tenant_id, member_id) {
      const at = key(tenant_id, member_id);
      const place = places.get(at);
      if (!members.delete(at) || place === undefined) return false;
      const { moved_from: _, ...rest } = place;
      const version = Math.max(place.version + 1, clock().getTime());
      left.set(markKey(tenant_id, place.email_hash, member_id), { tenant_id, member_id, at: version });
      places.set(at, { ...rest, version, gone: true });
      return true;
    },

    async *addresses(tenant_id, after = '') {
      const ordered = entriesOf(tenant_id, { members, facts, places, left })
        .filter(({ email_hash }) => email_hash > after)
        .sort((a, b) => (a.email_hash < b.email_hash ? -1 : 1));
      for (let i = 0; i < ordered.length; i += PAGE) yield ordered.slice(i, i + PAGE);
    },

    audience: (query) => store.addressees(query),
    async *addressees(query, after) {
      for await (const page of store.addresses(query.tenant_id, after))
        yield page.flatMap((one) => asked(withTimes(one, query.tenant_id, { places, left }), query));
    },

    async address(tenant_id, email_hash) {
      for await (const page of store.addresses(tenant_id)) {
        const entry = page.find((one) => one.email_hash === email_hash);
        if (entry === undefined) continue;
        const known = entry.members.length > 0 || entry.facts !== undefined;
        return known ? withTimes(entry, tenant_id, { places, left }) : undefined;
      }
      return undefined;
    },
  };
  return store;
}

/** What is known of addresses, whoever is at them. */
function factsIn(
  facts: Map<string, AddressFacts>,
): Pick<MemberStore, 'facts' | 'suppress' | 'unsuppress' | 'unsubscribe' | 'resubscribe' | 'markGone' | 'liftGone'> {
  const change = (tenant_id: string, email_hash: string, next: (before: AddressFacts) => AddressFacts) => {
    const before = facts.get(key(tenant_id, email_hash)) ?? { tenant_id, email_hash, unsubscribed: {} };
    const after = next(before);
    if (isKnown(after) || Object.keys(after.gone ?? {}).length > 0) facts.set(key(tenant_id, email_hash), after);
    else facts.delete(key(tenant_id, email_hash));
  };

  return {
    async facts(tenant_id, email_hashes) {
      const found = email_hashes.flatMap((email_hash) => facts.get(key(tenant_id, email_hash)) ?? []);
      return new Map(found.map((one) => [one.email_hash, one]));
    },
    async suppress(tenant_id, email_hash, why) {
      change(tenant_id, email_hash, (before) => ({
        ...before,
        ...(isAny(suppressible(why.reason), { ...before }) && { suppressed: why }),
      }));
    },
    async unsuppress(tenant_id, email_hash) {
      change(tenant_id, email_hash, ({ suppressed: _, ...rest }) => rest);
    },
    async unsubscribe(tenant_id, email_hash, newsletter_id, at) {
      change(tenant_id, email_hash, (before) => ({
        ...before,
        unsubscribed: { [newsletter_id]: at, ...before.unsubscribed },
      }));
    },
    async resubscribe(tenant_id, email_hash, newsletter_id) {
      change(tenant_id, email_hash, ({ unsubscribed: { [newsletter_id]: _, ...unsubscribed }, ...rest }) => ({
        ...rest,
        unsubscribed,
      }));
    },
    async markGone(tenant_id, email_hash, newsletter_ids, gone) {
      const marks = Object.fromEntries(newsletter_ids.map((newsletter_id) => [newsletter_id, gone]));
      change(tenant_id, email_hash, (before) => ({ ...before, gone: { ...before.gone, ...marks } }));
    },
    async liftGone(tenant_id, email_hash, newsletter_id, at) {
      change(tenant_id, email_hash, ({ gone = {}, ...rest }) => {
        const kept = Object.entries(gone).filter(([id, mark]) => id !== newsletter_id || mark.at !== at);
        return { ...rest, ...(kept.length > 0 && { gone: Object.fromEntries(kept) }) };
      });
    },
  };
}

interface Tables {
  readonly members: ReadonlyMap<string, StoredMember>;
  readonly facts: ReadonlyMap<string, AddressFacts>;
  readonly places: ReadonlyMap<string, MemberPlace>;
  readonly left: ReadonlyMap<string, Mark>;
}

function withTimes(entry: AddressEntry, tenant_id: string, { places, left }: Pick<Tables, 'places' | 'left'>) {
  const marks = [...left].filter(([key, { member_id }]) => key === markKey(tenant_id, entry.email_hash, member_id));
  const cameAt = (member_id: string) => places.get(key(tenant_id, member_id))?.version ?? 0;
  return {
    ...entry,
    members: entry.members.map((one) => ({ ...one, came_at: cameAt(one.member_id) })),
    ...(marks.length > 0 && { left: new Map(marks.map(([, { member_id, at }]) => [member_id, at])) }),
  };
}

/** The addresses of a tenant, each with its members, what is known of it, and the moves of those who left it. */
function entriesOf(tenant_id: string, { members, facts, places, left }: Tables): AddressEntry[] {
  const entries = new Map<string, AddressEntry>();
  for (const { gone: _, ...one } of facts.values()) {
    if (one.tenant_id === tenant_id && isKnown(one))
      entries.set(one.email_hash, { email_hash: one.email_hash, members: [], facts: one });
  }
  const entryAt = (email_hash: string) => entries.get(email_hash) ?? { email_hash, members: [] };
  const tell = (email_hash: string, member_id: string, moves: readonly Move[]) => {
    const entry = entryAt(email_hash);
    entries.set(email_hash, { ...entry, moves: new Map([...(entry.moves ?? []), [member_id, moves]]) });
  };
  for (const one of members.values()) {
    if (one.tenant_id !== tenant_id) continue;
    const entry = entryAt(one.email_hash);
    entries.set(one.email_hash, { ...entry, members: [...entry.members, one].sort(byId) });
    const { moves } = places.get(key(tenant_id, one.member_id)) ?? {};
    if (moves !== undefined) tell(one.email_hash, one.member_id, moves);
  }
  for (const { move, member_id, ...mark } of left.values())
    if (mark.tenant_id === tenant_id && move) tell(move.from, member_id, [move]);
  return [...entries.values()];
}

function isKnown({ suppressed, unsubscribed }: AddressFacts): boolean {
  return suppressed !== undefined || Object.keys(unsubscribed).length > 0;
}

/** The order of DynamoDB's sort keys: that of UTF-8. */
function byId(a: StoredMember, b: StoredMember): number {
  return Buffer.compare(Buffer.from(a.member_id), Buffer.from(b.member_id));
}

/** An address as a mailing asks for it; none where nothing is left that it asks for. */
function asked({ facts, ...entry }: AddressEntry, { newsletter_id, fields }: AudienceQuery): AddressEntry<Addressee>[] {
  const members = entry.members.map((one) => withFields(one, fields));
  const kept = Object.entries(facts?.unsubscribed ?? {}).filter(
    ([id]) => id === newsletter_id || fields.has('newsletters'),
  );
  const known = facts && { ...facts, unsubscribed: Object.fromEntries(kept) };
  if (known !== undefined && isKnown(known)) return [{ ...entry, members, facts: known }];
  return members.length > 0 || entry.moves ? [{ ...entry, members }] : [];
}

/** A matcher that looks at a field that was not asked for finds nothing there. */
function withFields(member: StoredMember, fields: ReadonlySet<keyof SegmentSubject>): Addressee {
  const { status, labels, created_at, updated_at: _, ...rest } = member;
  return {
    ...rest,
    status: fields.has('status') ? status : ('' as MemberStatus),
    labels: fields.has('labels') ? labels : [],
    created_at: fields.has('created_at') ? created_at : '',
  };
}
