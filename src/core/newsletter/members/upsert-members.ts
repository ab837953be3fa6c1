import { groupsOf } from '../../model/collections.ts';
import type { Clock } from '../../model/time.ts';
import { ifReadable, type MemberStatus, type StoredMember, type Suppression } from '../model/member.ts';
import { leftAddresses, type MemberStore, type Sealing } from '../model/ports.ts';
import { type Carrying, carryFacts, completeMoves, type Leaving, liftGone, markGone } from './left-addresses.ts';

/** A member as someone hands it over. What is absent stays as it is, or has its default for a new member. */
export interface GivenMember {
  readonly member_id: string;
  readonly email: string;
  /** Null removes the name. */
  readonly name?: string | null;
  readonly status?: MemberStatus;
  readonly labels?: readonly string[];
  readonly newsletters?: readonly string[];
  /** When a new member joined elsewhere; that of a known member stays. */
  readonly created_at?: string;
  /** Times of unsubscription by newsletter_id: they are added to those that there are. */
  readonly unsubscribed?: Readonly<Record<string, string>>;
  readonly suppressed?: Suppression;
}

export interface UpsertDeps {
  readonly members: Pick<MemberStore, Carrying | 'upsert' | 'address' | 'markGone' | 'liftGone'>;
  readonly sealing: Pick<Sealing, 'sealMember' | 'openMember' | 'emailHash'>;
  readonly clock: Clock;
  readonly newId: () => string;
}

export const MAX_UPSERTS = 100;
const FACTS_AT_ONCE = 20;

/**
 * Creates or changes up to 100 members with different ids. What their addresses have decided comes first: in between
 * nobody may get a mail who does not want it.
 * @param add lists are added to those of the member; otherwise they replace them
 * @returns the ids of those that are new
 */
export async function upsertMembers(
  tenant_id: string,
  given: readonly GivenMember[],
  deps: UpsertDeps,
  { add = false }: { readonly add?: boolean } = {},
): Promise<ReadonlySet<string>> {
  await storeFacts(tenant_id, given, deps);
  const found = await deps.members.find(
    tenant_id,
    given.map(({ member_id }) => member_id),
  );
  const before = new Map(found.members.map((member) => [member.member_id, member]));
  const next = await Promise.all(
    given.map((one) => storedOf(tenant_id, one, before.get(one.member_id), { ...deps, add })),
  );
  const moves = next.flatMap(({ member_id, email_hash: to }) => {
    const place = found.places.get(member_id);
    // A deleted member comes back as a new one.
    const left = place === undefined || place.gone ? [] : leftAddresses(place, to);
    return left.map((from) => ({ member_id, tenant_id, from, to }));
  });
  const leaving = next.flatMap((member) => leavingOf(before.get(member.member_id), member));
  // Before the members: a death in between leaves an address too many without mail, not one too few.
  await markGone(tenant_id, leaving, deps, { before: true });
  await carryFacts(moves, deps.members);
  await deps.members.upsert(next, found);
  // And after the members.
  await completeMoves(tenant_id, [...new Set(moves.map(({ member_id }) => member_id))], deps.members);
  await markGone(tenant_id, leaving, deps, { before: false });
  await liftGone(tenant_id, next, deps.members);
  return new Set(next.map(({ member_id }) => member_id).filter((member_id) => !before.has(member_id)));
}

function leavingOf(before: StoredMember | undefined, next: StoredMember): readonly Leaving[] {
  if (before === undefined) return [];
  const { member_id, email_hash } = before;
  const stays = email_hash === next.email_hash;
  const newsletters = before.newsletters.filter((id) => !stays || !next.newsletters.includes(id));
  return newsletters.length === 0 ? [] : [{ member_id, email_hash, newsletters, reason: stays ? 'removed' : 'moved' }];
}

/** What addresses have decided elsewhere: an earlier time stays, and nothing is lifted. */
async function storeFacts(
  tenant_id: string,
  given: readonly GivenMember[],
  { members, sealing }: Pick<UpsertDeps, 'members' | 'sealing'>,
): Promise<void> {
  const decided = given.filter(
    ({ suppressed, unsubscribed = {} }) => suppressed !== undefined || Object.keys(unsubscribed).length > 0,
  );
  for (const group of groupsOf(decided, FACTS_AT_ONCE)) {
    await Promise.all(
      group.map(async ({ email, unsubscribed = {}, suppressed }) => {
        const hash = await sealing.emailHash(tenant_id, email);
        if (suppressed !== undefined) {
          await members.suppress(tenant_id, hash, { ...suppressed, at: new Date(suppressed.at).toISOString() });
        }
        for (const [newsletter_id, at] of Object.entries(unsubscribed)) {
          await members.unsubscribe(tenant_id, hash, newsletter_id, new Date(at).toISOString());
        }
      }),
    );
  }
}

async function storedOf(
  tenant_id: string,
  given: GivenMember,
  before: StoredMember | undefined,
  { sealing, clock, newId, add }: UpsertDeps & { readonly add: boolean },
): Promise<StoredMember> {
  const { member_id, email } = given;
  const now = clock().toISOString();
  const known = given.name === undefined && before ? await ifReadable(sealing.openMember(before)) : undefined;
  const name = given.name ?? known?.name;
  const lists = (old: readonly string[] = [], some: readonly string[] | undefined) => [
    ...new Set([...(add || some === undefined ? old : []), ...(some ?? [])]),
  ];
  return {
    tenant_id,
    member_id,
    member_uuid: before?.member_uuid ?? newId(),
    status: given.status ?? before?.status ?? 'free',
    labels: lists(before?.labels, given.labels),
    newsletters: lists(before?.newsletters, given.newsletters),
    created_at: before?.created_at ?? (given.created_at === undefined ? now : new Date(given.created_at).toISOString()),
    updated_at: now,
    email_hash: await sealing.emailHash(tenant_id, email),
    sealed_identity: await sealing.sealMember(tenant_id, member_id, { email, ...(name !== undefined && { name }) }),
  };
}

export interface ResubscribeDeps {
  readonly members: Pick<MemberStore, Carrying | 'upsert' | 'resubscribe' | 'address' | 'liftGone'>;
  readonly clock: Clock;
}

/** The member asked for it: lifts the unsubscription and subscribes again. It does not lift a suppression. */
export async function resubscribe(
  member: StoredMember,
  newsletter_id: string,
  { members, clock }: ResubscribeDeps,
): Promise<StoredMember> {
  // Otherwise a later upsert would complete the move, and bring the unsubscription back.
  await completeMoves(member.tenant_id, [member.member_id], members);
  const subscribed = {
    ...member,
    newsletters: [...new Set([...member.newsletters, newsletter_id])],
    updated_at: clock().toISOString(),
  };
  if (!member.newsletters.includes(newsletter_id)) await members.upsert([subscribed]);
  await members.resubscribe(member.tenant_id, member.email_hash, newsletter_id);
  await liftGone(member.tenant_id, [subscribed], members);
  return subscribed;
}

/** What became of a member: it was stored, or storage failed. */
export type UpsertOutcome = { readonly created: boolean } | Error;

const WRITE_CONCURRENCY = 4;

/**
 * Upserts any number of members of a tenant. Those with the same id are one member: what the later one gives counts, and
 * what each of their addresses has decided stays with it.
 * @returns an outcome per member, in order. A failure of storage concerns up to 100 members.
 */
export async function upsertAll(
  tenant_id: string,
  given: readonly GivenMember[],
  deps: UpsertDeps,
): Promise<readonly UpsertOutcome[]> {
  const outcomes = new Map<string, UpsertOutcome>();
  const waiting = [...Map.groupBy(given, ({ member_id }) => member_id).values()];
  const work = async () => {
    for (let batch = waiting.splice(0, MAX_UPSERTS); batch.length > 0; batch = waiting.splice(0, MAX_UPSERTS)) {
      try {
        await storeFacts(tenant_id, batch.flat(), deps);
        for (const entries of batch) await carryWithin(tenant_id, entries, deps);
        const created = await upsertMembers(tenant_id, batch.map(mergedOf), deps);
        for (const [one] of batch) if (one) outcomes.set(one.member_id, { created: created.has(one.member_id) });
      } catch (cause) {
        const error = cause instanceof Error ? cause : new Error(String(cause));
        for (const [one] of batch) if (one) outcomes.set(one.member_id, error);
      }
    }
  };
  await Promise.all(Array.from({ length: WRITE_CONCURRENCY }, work));
  return given.map(({ member_id }) => outcomes.get(member_id) ?? new Error('The member was not stored.'));
}

/** A member without what addresses decided, which is stored by then. */
function mergedOf(entries: readonly GivenMember[]): GivenMember {
  const { unsubscribed: _, suppressed: __, ...member } = Object.assign({}, ...entries) as GivenMember;
  return member;
}

/** Several addresses of one member are moves to the last, as if they had come one after the other. */
async function carryWithin(
  tenant_id: string,
  entries: readonly GivenMember[],
  { members, sealing }: UpsertDeps,
): Promise<void> {
  if (new Set(entries.map(({ email }) => email)).size < 2) return;
  const hashes = await Promise.all(entries.map(({ email }) => sealing.emailHash(tenant_id, email)));
  const to = hashes.at(-1) ?? '';
  const moves = [...new Set(hashes)].flatMap((from) => (from === to ? [] : [{ tenant_id, from, to }]));
  await carryFacts(moves, members);
}
