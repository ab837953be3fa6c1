import { groupsOf } from '../../model/collections.ts';
import type { ExclusionReason } from '../model/batch.ts';
import { type Addressee, hasUnsubscribed, ifReadable, type SegmentSubject } from '../model/member.ts';
import type { AddressEntry, AudienceQuery, MemberPlace, MemberStore, Sealing } from '../model/ports.ts';
import type { PreparedCandidate } from '../preparation/ports.ts';

/** Its `fields` are those that its segment, or a part of its post, looks at (segmentFields). */
export interface Audience extends AudienceQuery {
  /** The segment (segmentMatcher). */
  readonly matches: (member: SegmentSubject) => boolean;
  /** When the preparation began, in milliseconds: who moves afterwards is decided where it was then. */
  readonly began: number;
}

/**
 * A subscribed member that matches the segment. Each is a recipient or excluded. The pass may be interrupted between
 * two pages; a member who moved since it began comes with its present address where it was.
 */
export interface Candidate<M = Addressee> {
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
 * no candidate. Of the members of one address the first is the recipient, those before others who came, or were created,
 * since the pass began: otherwise who moves ahead of it is sent to twice, and who moves behind it never.
 * @param after only addresses after this hash
 */
export async function* candidates(
  members: Pick<MemberStore, 'addressees'> & Elsewhere,
  audience: Audience,
  after?: string,
): AsyncGenerator<CandidatesUpTo> {
  for await (const page of members.addressees(audience, after)) {
    const last = page.at(-1);
    if (last === undefined) continue;
    const here: Candidate[] = [];
    for (const entry of page) {
      // Nearly all: none of them has anything to wait for.
      const isSettled = entry.moves === undefined && entry.left === undefined;
      here.push(...(isSettled ? candidatesOf(entry, audience) : await candidatesHere(entry, page, members, audience)));
    }
    yield {
      email_hash: last.email_hash,
      members: page.reduce((sum, entry) => sum + entry.members.length, 0),
      candidates: [...here, ...(await candidatesLeaving(page, members, audience))],
    };
  }
}

/** What is looked at where an address changed hands since the pass began. */
type Elsewhere = Pick<MemberStore, 'address' | 'read' | 'find'>;

/** The addresses that are decided together, as they were read. */
type Page = readonly AddressEntry<Addressee>[];

/** Who was at the place when the preparation began is decided, or is being decided. */
const isPassed = (place: string, page: Page): boolean => place <= (page.at(-1)?.email_hash ?? '');

/** Where a member was when the preparation began: there its place is among the recipients. */
export function placeAt(began: number, { email_hash, moves = [] }: Pick<MemberPlace, 'email_hash' | 'moves'>): string {
  return moves.find(({ at }) => at >= began)?.from ?? email_hash;
}

function originOf({ email_hash, moves }: AddressEntry<Addressee>, member_id: string, { began }: Audience): string {
  return placeAt(began, { email_hash, moves: moves?.get(member_id) ?? [] });
}

/** Who left the place where it was when the preparation began, and came back, was there. */
function cameSince(entry: AddressEntry<Addressee>, { member_id, came_at = 0 }: Addressee, audience: Audience): boolean {
  if (came_at < audience.began) return false;
  const moved = entry.moves?.get(member_id)?.some(({ at }) => at >= audience.began);
  return !moved || originOf(entry, member_id, audience) !== entry.email_hash;
}

/** Who was here when the preparation began comes first, then who came, or was created, in the order of their coming. */
function inOrder(entry: AddressEntry<Addressee>, audience: Audience): readonly Addressee[] {
  const came = entry.members.filter((member) => cameSince(entry, member, audience));
  if (came.length === 0) return entry.members;
  const stayed = entry.members.filter((member) => !came.includes(member));
  return [...stayed, ...came.sort((a, b) => (a.came_at ?? 0) - (b.came_at ?? 0))];
}

/** The candidates whose place is here, where somebody came or left: who came from elsewhere is decided there. */
async function candidatesHere(
  entry: AddressEntry<Addressee>,
  page: Page,
  members: Elsewhere,
  audience: Audience,
): Promise<readonly Candidate[]> {
  const { email_hash } = entry;
  const all = candidatesOf({ ...entry, members: inOrder(entry, audience) }, audience);
  const placeOf = ({ member_id }: Addressee) => originOf(entry, member_id, audience);
  const here = all.filter(({ member }) => placeOf(member) === email_hash);
  const first = here.find(({ excluded }) => excluded === undefined);
  const { came_at = 0 } = first?.member ?? {};
  if (first === undefined || came_at < audience.began) return here;
  // Who came, was decided with the address, and then met the one who was created here or came back.
  const wasDecided = entry.members.some(
    (one) => placeOf(one) !== email_hash && isPassed(placeOf(one), page) && (one.came_at ?? 0) < came_at,
  );
  if (!wasDecided && !(await isTaken(entry, page, email_hash, members, audience))) return here;
  return here.map((one) => (one === first ? { ...one, excluded: 'repeated_address' } : one));
}

/**
 * Whether the address may be among the recipients already: of somebody who left it since, and whose place has been passed.
 * @param place where it is decided, whose own members are decided now
 */
async function isTaken(
  { email_hash, left = new Map() }: AddressEntry<Addressee>,
  page: Page,
  place: string,
  members: Elsewhere,
  { tenant_id, began }: Audience,
): Promise<boolean> {
  const leavers = [...left].filter(([, at]) => at >= began).map(([member_id]) => member_id);
  const seen = page.find((one) => one.email_hash === email_hash);
  for (const group of groupsOf(leavers, AT_ONCE)) {
    const { places } = await members.find(tenant_id, group);
    const isDecided = (member_id: string) => {
      const known = places.get(member_id);
      const origin = known === undefined ? email_hash : placeAt(began, known);
      if (origin !== email_hash) return isPassed(origin, page);
      // Of its own members those are recipients that its page had.
      if (place === email_hash || seen === undefined) return place !== email_hash && isPassed(origin, page);
      return seen.members.some((one) => one.member_id === member_id);
    };
    if (group.some(isDecided)) return true;
  }
  return false;
}

/** Storage looks for as many moved members at once. */
const AT_ONCE = 20;

/** The candidates who were at the addresses when the preparation began, and are elsewhere now. */
async function candidatesLeaving(page: Page, members: Elsewhere, audience: Audience): Promise<Candidate[]> {
  const leaving = page.flatMap(({ email_hash, members: here, moves = new Map() }) =>
    [...moves].flatMap(([member_id, [move]]) =>
      move.from === email_hash && move.at >= audience.began && !here.some((one) => one.member_id === member_id)
        ? [{ member_id, email_hash }]
        : [],
    ),
  );
  const found: Candidate[] = [];
  for (const group of groupsOf(leaving, AT_ONCE)) {
    const some = group.map((one) => candidateFrom(one, page, members, audience));
    found.push(...(await Promise.all(some)).filter((one) => one !== undefined));
  }
  return found;
}

async function candidateFrom(
  { email_hash: origin, member_id }: Pick<Addressee, 'email_hash' | 'member_id'>,
  page: Page,
  members: Elsewhere,
  audience: Audience,
): Promise<Candidate | undefined> {
  const { tenant_id } = audience;
  for (let to = await members.read(tenant_id, member_id); to !== undefined; ) {
    const entry = await members.address(tenant_id, to.email_hash);
    if (entry?.members.some((one) => one.member_id === member_id)) {
      if (originOf(entry, member_id, audience) !== origin) return undefined;
      const all = candidatesOf({ ...entry, members: inOrder(entry, audience) }, audience);
      const found = all.find(({ member }) => member.member_id === member_id);
      if (found === undefined || found.excluded !== undefined) return found;
      const taken = await isTaken(entry, page, origin, members, audience);
      return taken ? { ...found, excluded: 'repeated_address' } : found;
    }
    // It moved on, or was deleted, between the two reads.
    to = await members.read(tenant_id, member_id);
  }
  return undefined;
}

function candidatesOf<M extends SegmentSubject>(
  { members, facts }: AddressEntry<M>,
  { newsletter_id, matches }: Audience,
): Candidate<M>[] {
  if (hasUnsubscribed(facts, newsletter_id)) return [];
  return members
    .map((member) => withoutUnsubscribed(member, facts))
    .filter((member) => member.newsletters.includes(newsletter_id) && matches(member))
    .map((member, i) => {
      if (facts?.suppressed !== undefined) return { member, excluded: 'suppressed' };
      return i === 0 ? { member } : { member, excluded: 'repeated_address' };
    });
}

/** As a segment sees it, and a part of the post: whoever unsubscribed from a newsletter does not get it. */
export function withoutUnsubscribed<M extends SegmentSubject>(member: M, facts: AddressEntry<M>['facts']): M {
  if (facts === undefined || !member.newsletters.some((id) => hasUnsubscribed(facts, id))) return member;
  return { ...member, newsletters: member.newsletters.filter((id) => !hasUnsubscribed(facts, id)) };
}

/** The number of candidates who would be sent to, without decrypting any. */
export async function countAudience(members: Pick<MemberStore, 'audience'>, audience: Audience): Promise<number> {
  let count = 0;
  for await (const page of members.audience(audience)) {
    for (const entry of page) count += candidatesOf(entry, audience).filter((one) => one.excluded === undefined).length;
  }
  return count;
}

/**
 * An address that is not well-formed any more is excluded: it would fail a call for the 49 others. So is one that can
 * never be read: it would stop the preparation.
 */
export async function openCandidate(
  { member, excluded }: Candidate,
  sealing: Pick<Sealing, 'openMember' | 'mailbox'>,
): Promise<PreparedCandidate> {
  const identity = await ifReadable(sealing.openMember(member));
  if (identity === undefined) return { member, identity: { email: '' }, excluded: excluded ?? 'unreadable_address' };
  const reason = excluded ?? (sealing.mailbox(identity.email) === undefined ? 'malformed_address' : undefined);
  return { member, identity, ...(reason && { excluded: reason }) };
}
