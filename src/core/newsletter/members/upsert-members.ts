import type { Clock } from '../../model/time.ts';
import type { MemberStatus, StoredMember } from '../model/member.ts';
import { leftAddresses } from '../model/member-place.ts';
import type { MemberStore, Sealing } from '../model/ports.ts';
import { carryFacts, completeMoves } from './carry-facts.ts';

/** A member as someone hands it over. What is absent stays as it is, or has its default for a new member. */
export interface GivenMember {
  readonly member_id: string;
  readonly email: string;
  /** Null removes the name. */
  readonly name?: string | null;
  readonly status?: MemberStatus;
  readonly labels?: readonly string[];
  readonly newsletters?: readonly string[];
}

export interface UpsertDeps {
  readonly members: Pick<MemberStore, 'upsert' | 'find' | 'facts' | 'suppress' | 'unsubscribe' | 'settleMove'>;
  readonly sealing: Pick<Sealing, 'sealMember' | 'openMember' | 'emailHash'>;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** Most members per call. */
export const MAX_UPSERTS = 100;

/**
 * Creates or changes up to 100 members with different ids.
 * @param add lists are added to those of the member; otherwise they replace them
 * @returns the ids of those that are new
 */
export async function upsertMembers(
  tenant_id: string,
  given: readonly GivenMember[],
  deps: UpsertDeps,
  { add = false }: { readonly add?: boolean } = {},
): Promise<ReadonlySet<string>> {
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
  // Before the members: a death in between leaves an address too many without mail, not one too few.
  await carryFacts(moves, deps.members);
  await deps.members.upsert(next, found);
  // And after the members.
  await completeMoves(tenant_id, [...new Set(moves.map(({ member_id }) => member_id))], deps.members);
  return new Set(next.map(({ member_id }) => member_id).filter((member_id) => !before.has(member_id)));
}

async function storedOf(
  tenant_id: string,
  given: GivenMember,
  before: StoredMember | undefined,
  { sealing, clock, newId, add }: UpsertDeps & { readonly add: boolean },
): Promise<StoredMember> {
  const { member_id, email } = given;
  const now = clock().toISOString();
  const name = given.name === undefined && before ? (await sealing.openMember(before)).name : (given.name ?? undefined);
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
    created_at: before?.created_at ?? now,
    updated_at: now,
    email_hash: await sealing.emailHash(tenant_id, email),
    sealed_identity: await sealing.sealMember(tenant_id, member_id, { email, ...(name !== undefined && { name }) }),
  };
}
