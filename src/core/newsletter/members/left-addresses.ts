import { groupsOf } from '../../model/collections.ts';
import type { Clock } from '../../model/time.ts';
import { type GoneReason, goneFrom, type StoredMember } from '../model/member.ts';
import type { MemberStore } from '../model/ports.ts';

/** What carries the facts of an address to the next one of a member. */
export type Carrying = 'find' | 'facts' | 'suppress' | 'unsubscribe' | 'settleMove';

/**
 * A member who gets another address keeps what the person decided: unsubscriptions, and that mail of ours is not wanted
 * at all. That an address bounced says nothing of the next one.
 */
export async function carryFacts(
  moves: readonly { readonly tenant_id: string; readonly from: string; readonly to: string }[],
  members: Pick<MemberStore, 'facts' | 'suppress' | 'unsubscribe'>,
): Promise<void> {
  for (const { tenant_id, from, to } of moves) {
    const facts = (await members.facts(tenant_id, [from])).get(from);
    if (facts === undefined) continue;
    for (const [newsletter_id, at] of Object.entries(facts.unsubscribed)) {
      await members.unsubscribe(tenant_id, to, newsletter_id, at);
    }
    const { suppressed } = facts;
    if (suppressed !== undefined && suppressed.reason !== 'bounced') await members.suppress(tenant_id, to, suppressed);
  }
}

/**
 * Carries the facts of members who have moved once more: who unsubscribes during a move writes to the old address, and may
 * have read the member before. The place remembers the move until this is done, so a repeated upsert does it where the
 * first one died, or could not know that its move had been applied.
 */
export async function completeMoves(
  tenant_id: string,
  member_ids: readonly string[],
  members: Pick<MemberStore, Carrying>,
): Promise<void> {
  if (member_ids.length === 0) return;
  const { places } = await members.find(tenant_id, member_ids);
  for (const [member_id, place] of places) {
    const { moved_from, email_hash: to } = place;
    if (moved_from === undefined) continue;
    await carryFacts(
      moved_from.map((from) => ({ tenant_id, from, to })),
      members,
    );
    await members.settleMove(tenant_id, member_id, place);
  }
}

/** Addresses that are looked at, and written, at once. */
const AT_ONCE = 20;

/** A member who gets newsletters no more at an address. */
export interface Leaving {
  readonly member_id: string;
  readonly email_hash: string;
  readonly newsletters: readonly string[];
  readonly reason: GoneReason;
}

export interface GoneDeps {
  readonly members: Pick<MemberStore, 'address' | 'markGone'>;
  readonly clock: Clock;
}

/**
 * Marks the addresses for the newsletters that nobody else there gets: what was prepared before is not sent to them. The
 * mark is made before the members leave, so that a death in between leaves nobody without, and once more afterwards, as
 * of two who leave an address at once each has seen the other.
 * @param before the members are there still
 */
export async function markGone(
  tenant_id: string,
  leaving: readonly Leaving[],
  { members, clock }: GoneDeps,
  { before }: { readonly before: boolean },
): Promise<void> {
  for (const group of groupsOf(leaving, AT_ONCE)) {
    await Promise.all(
      group.map(async ({ member_id, email_hash, newsletters, reason }) => {
        const found = (await members.address(tenant_id, email_hash))?.members ?? [];
        const others = found.filter((one) => !before || one.member_id !== member_id);
        const gone = newsletters.filter((id) => !others.some((one) => one.newsletters.includes(id)));
        if (gone.length === 0) return;
        await members.markGone(tenant_id, email_hash, gone, { reason, at: clock().toISOString() });
      }),
    );
  }
}

/** Who subscribes is not gone: lifts the marks of the addresses that they have. */
export async function liftGone(
  tenant_id: string,
  stored: readonly Pick<StoredMember, 'email_hash' | 'newsletters'>[],
  members: Pick<MemberStore, 'facts' | 'address' | 'liftGone'>,
): Promise<void> {
  const subscribed = stored.filter(({ newsletters }) => newsletters.length > 0);
  if (subscribed.length === 0) return;
  const facts = await members.facts(tenant_id, [...new Set(subscribed.map(({ email_hash }) => email_hash))]);
  for (const [email_hash, { gone = {} }] of facts) {
    if (Object.keys(gone).length === 0) continue;
    // Somebody may have left again since: a mark that was made after the facts were read has another time, and stays.
    const there = (await members.address(tenant_id, email_hash))?.members ?? [];
    for (const newsletter_id of new Set(there.flatMap(({ newsletters }) => newsletters))) {
      const mark = goneFrom({ gone }, newsletter_id);
      if (mark !== undefined) await members.liftGone(tenant_id, email_hash, newsletter_id, mark.at);
    }
  }
}

/** Deletes a member; what its address decided stays. @returns false when there is no such member */
export async function deleteMember(
  tenant_id: string,
  member_id: string,
  reason: Extract<GoneReason, 'deleted' | 'erased'>,
  deps: GoneDeps & { readonly members: Pick<MemberStore, 'read' | 'find' | 'remove'> },
): Promise<boolean> {
  const { members } = deps;
  const member = await members.read(tenant_id, member_id);
  if (member === undefined) return false;
  const { email_hash, newsletters } = member;
  await markGone(tenant_id, [{ member_id, email_hash, newsletters, reason }], deps, { before: true });
  const removed = await members.remove(tenant_id, member_id);
  // It may have moved between the two.
  const { places } = await members.find(tenant_id, [member_id]);
  const last = places.get(member_id)?.email_hash ?? email_hash;
  await markGone(tenant_id, [{ member_id, email_hash: last, newsletters, reason }], deps, { before: false });
  return removed;
}
