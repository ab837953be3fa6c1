import { UnreadableChunkError } from '../../core/newsletter/model/chunk.ts';
import type { Email } from '../../core/newsletter/model/email.ts';
import { hasUnsubscribed, type StoredMember } from '../../core/newsletter/model/member.ts';
import { findRecipient } from '../../core/newsletter/views/list-recipients.ts';
import type { EmailAccess } from '../emails.ts';
import { type MemberAccess, requireMember } from './members.ts';

/** Emails of a page: to find a member among the recipients of one takes some ten reads, thirty of a million. */
const SEARCHED = 10;

/** The emails of a tenant that froze a member, newest first, with what became of it. @throws Problem not-found */
export async function emailsOfMember(
  { tenant, member_id, after }: { readonly tenant: string; readonly member_id: string; readonly after?: string },
  access: MemberAccess,
  { emails, ...rows }: EmailAccess,
) {
  const member = await requireMember(tenant, member_id, access);
  const [page, facts] = await Promise.all([
    emails.list(tenant, after),
    access.members.facts(tenant, [member.email_hash]),
  ]);
  const mayHaveFrozen = mayHave(member, facts.get(member.email_hash));
  const searched = page.emails.slice(0, SEARCHED);
  const last = page.emails.length > SEARCHED ? searched.at(-1) : undefined;
  const hashOf = (address: string) => access.sealing.emailHash(tenant, address);
  const found = await Promise.all(
    searched.map(async (sent) => {
      const { email_id, newsletter_id, subject, created_at, prepared } = sent;
      if (prepared === undefined) return [];
      const email = { email_id, newsletter_id, ...(subject !== undefined && { subject }), created_at };
      const recipient = await findRecipient(email_id, member, { ...rows, hashOf }).catch(unreadable);
      if (recipient === undefined) return [];
      // Recipients that can be read say themselves who was among them. Where they cannot, only this tells.
      if (!('events' in recipient)) return mayHaveFrozen(sent) ? [{ ...email, ...recipient, events: [] }] : [];
      const { state, events, reason, processed_at } = recipient;
      return [{ ...email, state, events, ...(reason && { reason }), ...(processed_at && { processed_at }) }];
    }),
  );
  return { emails: found.flat(), next: last ? `${last.created_at} ${last.email_id}` : page.next_cursor };
}

/** One email whose recipients were altered must not hide the others of the member. */
function unreadable(error: unknown) {
  if (error instanceof UnreadableChunkError) return { state: 'unreadable', reason: error.message } as const;
  throw error;
}

/** Whether the member was there when an email was prepared, and has its newsletter or has left it. */
function mayHave({ created_at, newsletters }: Joined, facts: Parameters<typeof hasUnsubscribed>[0]) {
  return ({ newsletter_id, prepared }: Pick<Email, 'newsletter_id' | 'prepared'>) =>
    prepared !== undefined &&
    prepared.at >= created_at &&
    (newsletters.includes(newsletter_id) || hasUnsubscribed(facts, newsletter_id));
}

type Joined = Pick<StoredMember, 'created_at' | 'newsletters'>;
