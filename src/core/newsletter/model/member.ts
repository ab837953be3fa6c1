import { ExplainedError } from '../../model/problem.ts';

export const MEMBER_STATUSES = ['free', 'paid', 'comped'] as const;
export type MemberStatus = (typeof MEMBER_STATUSES)[number];

/** What identifies a member's person; it is stored encrypted, bound to tenant and member_id. */
export interface MemberIdentity {
  readonly email: string;
  /** Absent when it is unknown: a merge field then needs a fallback. */
  readonly name?: string;
}

/** Address and name of a member can never be read: they were altered, sealed for another one, or their key is gone. */
export class UnreadableMemberError extends ExplainedError {
  override readonly name = 'UnreadableMemberError';
}

/** What a seal holds; undefined where nobody can read it any more. */
export function ifReadable<T>(opening: Promise<T>): Promise<T | undefined> {
  return opening.catch((error: unknown) => {
    if (error instanceof UnreadableMemberError) return undefined;
    throw error;
  });
}

/** The fields of a member that are stored in the clear: a segment can ask for them. */
interface MemberProfile {
  readonly tenant_id: string;
  readonly member_id: string;
  /** Random, stable, and safe to show: the source's member_uuid. */
  readonly member_uuid: string;
  readonly status: MemberStatus;
  readonly labels: readonly string[];
  /** Ids of the newsletters that the member subscribes to, before unsubscriptions. */
  readonly newsletters: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
}

/** What a segment can see of a member: nothing that is encrypted. */
export type SegmentSubject = Pick<MemberProfile, 'member_id' | 'status' | 'labels' | 'newsletters' | 'created_at'>;

export interface StoredMember extends MemberProfile {
  /** When it came to its address, in milliseconds. Only `address` and `addressees` tell it. */
  readonly came_at?: number;
  /** Keyed hash of tenant and address: finds the address without decrypting any, and orders the members. */
  readonly email_hash: string;
  /** MemberIdentity, sealed. */
  readonly sealed_identity: string;
}

/** What a mailing needs of a member. */
export type Addressee = SegmentSubject &
  Pick<StoredMember, 'tenant_id' | 'member_uuid' | 'email_hash' | 'sealed_identity' | 'came_at'>;

/** Why nothing is sent to an address any more. Only an operator lifts it. */
export const SUPPRESSION_REASONS = ['bounced', 'complained', 'operator'] as const;
type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

export interface Suppression {
  readonly reason: SuppressionReason;
  readonly at: string;
}

/** Why nobody of an address gets a newsletter any more: erased, deleted, taken away from the newsletter, or moved. */
export type GoneReason = 'erased' | 'deleted' | 'removed' | 'moved';

export interface Gone {
  readonly reason: GoneReason;
  readonly at: string;
}

/** Kept by the address's hash, so that it outlives upserts, imports and the deletion of its members. */
export interface AddressFacts {
  readonly tenant_id: string;
  readonly email_hash: string;
  readonly suppressed?: Suppression;
  /** Times of unsubscription by newsletter_id. Only an explicit resubscription removes one. */
  readonly unsubscribed: Readonly<Record<string, string>>;
  /** By newsletter_id: the last member of the address who got it is gone (left-addresses.ts). Only `facts` tells it. */
  readonly gone?: Readonly<Record<string, Gone>>;
}

export function goneFrom({ gone = {} }: Pick<AddressFacts, 'gone'>, newsletter_id: string): Gone | undefined {
  return Object.hasOwn(gone, newsletter_id) ? gone[newsletter_id] : undefined;
}

export function hasUnsubscribed(facts: Pick<AddressFacts, 'unsubscribed'> | undefined, newsletter_id: string): boolean {
  // A newsletter may be called `constructor`.
  return facts !== undefined && Object.hasOwn(facts.unsubscribed, newsletter_id);
}

/** What all people of a file of members are, where it does not say it of each. */
export const FILE_STANDINGS = ['subscribed', 'unsubscribed', 'suppressed'] as const;
export type FileStanding = (typeof FILE_STANDINGS)[number];

/** Where a member stands with a newsletter, or with all of them. */
export const SUBSCRIPTION_STATES = ['suppressed', 'unsubscribed', 'subscribed', 'none'] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

type Facts = Pick<AddressFacts, 'suppressed' | 'unsubscribed'> | undefined;

/** The newsletters whose mails a member gets. */
export function newslettersSentTo(
  { newsletters }: Pick<SegmentSubject, 'newsletters'>,
  facts: Facts,
): readonly string[] {
  if (facts?.suppressed !== undefined) return [];
  return newsletters.filter((newsletter_id) => !hasUnsubscribed(facts, newsletter_id));
}

/** @param newsletter_id absent: of all; who gets one is subscribed */
export function subscriptionState(
  member: Pick<SegmentSubject, 'newsletters'>,
  facts: Facts,
  newsletter_id?: string,
): SubscriptionState {
  const left = Object.keys(facts?.unsubscribed ?? {});
  const of = (ids: readonly string[]) => (newsletter_id === undefined ? ids.length > 0 : ids.includes(newsletter_id));
  if (facts?.suppressed !== undefined) {
    return newsletter_id === undefined || of([...member.newsletters, ...left]) ? 'suppressed' : 'none';
  }
  if (of(newslettersSentTo(member, facts))) return 'subscribed';
  return of(left) ? 'unsubscribed' : 'none';
}
