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
