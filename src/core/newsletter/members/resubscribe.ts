import type { Clock } from '../../model/time.ts';
import type { StoredMember } from '../model/member.ts';
import type { MemberStore } from '../model/ports.ts';
import { completeMoves } from './carry-facts.ts';

export interface ResubscribeDeps {
  readonly members: Pick<
    MemberStore,
    'upsert' | 'resubscribe' | 'find' | 'facts' | 'suppress' | 'unsubscribe' | 'settleMove'
  >;
  readonly clock: Clock;
}

/**
 * Lifts an unsubscription because the member asked for it, and subscribes the member to the newsletter. It does not
 * lift a suppression.
 */
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
  return subscribed;
}
