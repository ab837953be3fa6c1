import { hasUnsubscribed, type SegmentSubject, type StoredMember } from '../model/member.ts';
import type { AddressEntry, MemberStore, Sealing } from '../model/ports.ts';
import type { ExclusionReason } from '../model/recipient-state.ts';
import type { PreparedCandidate } from '../preparation/ports.ts';

/** Whom an email is for. */
export interface Audience {
  readonly tenant_id: string;
  readonly newsletter_id: string;
  /** The segment (segmentMatcher). */
  readonly matches: (member: SegmentSubject) => boolean;
}

/**
 * A subscribed member that matches the segment. Each is a recipient or excluded. The pass may be interrupted between
 * two addresses, at the place that `member.email_hash` names: all candidates of an address come together, in one page.
 */
export interface Candidate<M = StoredMember> {
  readonly member: M;
  readonly excluded?: Extract<ExclusionReason, 'suppressed' | 'repeated_address'>;
}

/** The candidates among the addresses up to a place, who may be nobody. */
export interface CandidatesUpTo {
  readonly email_hash: string;
  /** Members among these addresses, candidates or not. */
  readonly members: number;
  readonly candidates: readonly Candidate[];
}

/**
 * The candidates of an audience in the order of email_hash, page by page, without decrypting any. A page without any
 * comes, too: a segment of a hundred among millions would be silence for minutes. Who unsubscribed is
 * no candidate. Of the members of one address the first is the recipient.
 * @param after only addresses after this hash
 */
export async function* candidates(
  members: Pick<MemberStore, 'addresses'>,
  audience: Audience,
  after?: string,
): AsyncGenerator<CandidatesUpTo> {
  for await (const page of members.addresses(audience.tenant_id, after)) {
    const last = page.at(-1);
    if (last === undefined) continue;
    yield {
      email_hash: last.email_hash,
      members: page.reduce((sum, entry) => sum + entry.members.length, 0),
      candidates: page.flatMap((entry) => candidatesOf(entry, audience)),
    };
  }
}

function candidatesOf<M extends SegmentSubject>(
  { members, facts }: AddressEntry<M>,
  { newsletter_id, matches }: Audience,
): Candidate<M>[] {
  if (hasUnsubscribed(facts, newsletter_id)) return [];
  return members
    .filter((member) => member.newsletters.includes(newsletter_id) && matches(member))
    .map((member, i) => {
      if (facts?.suppressed !== undefined) return { member, excluded: 'suppressed' };
      return i === 0 ? { member } : { member, excluded: 'repeated_address' };
    });
}

/** The number of candidates, the excluded ones included, without decrypting any. */
export async function countAudience(members: Pick<MemberStore, 'audience'>, audience: Audience): Promise<number> {
  let count = 0;
  for await (const page of members.audience(audience.tenant_id, audience.newsletter_id)) {
    for (const entry of page) count += candidatesOf(entry, audience).length;
  }
  return count;
}

/**
 * Decrypts a candidate. An address that was well-formed when the member was stored, and is not any more, is excluded
 * instead of failing a call for the 49 others.
 */
export async function openCandidate(
  { member, excluded }: Candidate,
  sealing: Pick<Sealing, 'openMember' | 'mailbox'>,
): Promise<PreparedCandidate> {
  const identity = await sealing.openMember(member);
  const reason = excluded ?? (sealing.mailbox(identity.email) === undefined ? 'malformed_address' : undefined);
  return { member, identity, ...(reason && { excluded: reason }) };
}
