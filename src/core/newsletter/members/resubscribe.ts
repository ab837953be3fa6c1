import type { Clock } from '../../model/time.ts';
import type { StoredMember } from '../model/member.ts';
import type { MemberStore } from '../model/ports.ts';

/**
 * Lifts an unsubscription because the member asked for it, and subscribes the member to the newsletter. It does not
 * lift a suppression.
 */
export async function resubscribe(
  member: StoredMember,
  newsletter_id: string,
  { members, clock }: { readonly members: Pick<MemberStore, 'upsert' | 'resubscribe'>; readonly clock: Clock },
): Promise<StoredMember> {
  const subscribed = {
    ...member,
    newsletters: [...new Set([...member.newsletters, newsletter_id])],
    updated_at: clock().toISOString(),
  };
  if (!member.newsletters.includes(newsletter_id)) await members.upsert([subscribed]);
  await members.resubscribe(member.tenant_id, member.email_hash, newsletter_id);
  return subscribed;
}
