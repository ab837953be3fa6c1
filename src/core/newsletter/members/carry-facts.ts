import type { MemberStore } from '../model/ports.ts';

interface Move {
  readonly tenant_id: string;
  readonly from: string;
  readonly to: string;
}

/**
 * A member who gets another address keeps what the person decided: unsubscriptions, and that mail of ours is not wanted
 * at all. That an address bounced says nothing of the next one.
 */
export async function carryFacts(
  moves: readonly Move[],
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
  members: Pick<MemberStore, 'find' | 'facts' | 'suppress' | 'unsubscribe' | 'settleMove'>,
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
