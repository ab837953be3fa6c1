import { defined } from '../../core/model/collections.ts';
import { type FieldFault, Problem, problemDocument, unavailable } from '../../core/model/problem.ts';
import {
  type GivenMember,
  resubscribe,
  type UpsertDeps,
  upsertAll,
} from '../../core/newsletter/members/upsert-members.ts';
import { type AddressFacts, ifReadable, type StoredMember } from '../../core/newsletter/model/member.ts';
import type { MemberStore, NewsletterStore } from '../../core/newsletter/model/ports.ts';
import { check, invalid } from '../../http/check.ts';
import { memberSchema } from '../contract/api/newsletters.ts';
import { addressPlace, fromCursor, toCursor } from '../cursor.ts';

/** What a tenant does with its own members. */
export interface TenantMembersDeps extends UpsertDeps {
  readonly members: MemberStore;
  readonly newsletters: Pick<NewsletterStore, 'list' | 'read'>;
}

/** What is known of an address, also where no member has it. */
export const knownOf = (facts: AddressFacts | undefined) => ({
  unsubscribed: facts?.unsubscribed ?? {},
  ...(facts?.suppressed && { suppressed: facts.suppressed }),
});

/** A member and what is known of its address. @param identities whether with address and name */
async function viewOf(
  member: StoredMember,
  facts: AddressFacts | undefined,
  { sealing, identities }: Pick<UpsertDeps, 'sealing'> & { readonly identities: boolean },
) {
  const { tenant_id: _, email_hash: __, sealed_identity: ___, ...rest } = member;
  return { ...rest, ...(identities && (await ifReadable(sealing.openMember(member)))), ...knownOf(facts) };
}

interface OneMember {
  readonly tenant_id: string;
  readonly member_id: string;
  readonly identities: boolean;
}

/** @throws Problem not-found */
export async function showOwnMember(asked: OneMember, deps: TenantMembersDeps) {
  return shown(await find(asked, deps), asked, deps);
}

/** @throws Problem not-found, invalid-request where there is no such newsletter */
export async function resubscribeMember(asked: OneMember, newsletter_id: string, deps: TenantMembersDeps) {
  const member = await find(asked, deps);
  if ((await deps.newsletters.read(asked.tenant_id, newsletter_id)) === undefined)
    throw invalid([noNewsletter('newsletter_id')]);
  return shown(await resubscribe(member, newsletter_id, deps), asked, deps);
}

async function find({ tenant_id, member_id }: OneMember, { members }: TenantMembersDeps): Promise<StoredMember> {
  const found = isMemberId(member_id) ? await members.read(tenant_id, member_id) : undefined;
  if (found === undefined) throw noMember();
  return found;
}

async function shown(member: StoredMember, { identities }: OneMember, { members, sealing }: TenantMembersDeps) {
  const facts = await members.facts(member.tenant_id, [member.email_hash]);
  return viewOf(member, facts.get(member.email_hash), { sealing, identities });
}

interface MembersWanted {
  readonly tenant_id: string;
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** Whether with addresses and names. */
  readonly identities?: boolean;
  /** Who is listed; absent: all. */
  readonly fits?: (member: StoredMember, facts: AddressFacts | undefined) => boolean;
  /** Whether it reads on until the page is full; absent: it reads one page of storage, which may have no members. */
  readonly goesOn?: () => boolean;
}

/** Members in the order of their addresses. A page may be empty, and has less than twice its limit. */
export async function pageOfMembers(
  { tenant_id, cursor, limit, identities = true, fits = () => true, goesOn = () => false }: MembersWanted,
  { members, sealing }: Pick<TenantMembersDeps, 'members' | 'sealing'>,
) {
  const found: ReturnType<typeof viewOf>[] = [];
  let last: string | undefined;
  let full = false;
  for await (const page of addressesFrom(tenant_id, fromCursor(addressPlace, cursor), members)) {
    for (const { email_hash, members: same, facts } of page) {
      const listed = same.slice(0, limit).filter((member) => fits(member, facts));
      found.push(...listed.map((member) => viewOf(member, facts, { sealing, identities })));
      last = same.length > limit ? `${email_hash} ${same[limit - 1]?.member_id}` : email_hash;
      full = found.length >= limit || same.length > limit;
      if (full) break;
    }
    if (full || (last !== undefined && !goesOn()))
      return { members: await Promise.all(found), next_cursor: toCursor(last) };
  }
  return { members: await Promise.all(found), next_cursor: null };
}

/** Also the rest of an address that has more members than a page. */
async function* addressesFrom(
  tenant_id: string,
  from: { readonly email_hash: string; readonly member_id?: string } | undefined,
  members: MemberStore,
) {
  const { email_hash, member_id } = from ?? {};
  if (email_hash !== undefined && member_id !== undefined) {
    const entry = await members.address(tenant_id, email_hash);
    // In the order of their bytes, as they are stored.
    const rest = entry?.members.filter((one) => Buffer.compare(Buffer.from(one.member_id), Buffer.from(member_id)) > 0);
    if (entry && rest?.length) yield [{ ...entry, members: rest }];
  }
  yield* members.addresses(tenant_id, email_hash);
}

/** Adds or changes members, each with a result of its own. @returns what failed on our side, beside the results */
export async function upsertOwnMembers(tenant_id: string, raw: readonly unknown[], deps: TenantMembersDeps) {
  const known = new Set((await deps.newsletters.list(tenant_id)).map(({ newsletter_id }) => newsletter_id));
  const items = raw.map((one) => readMember(one, known));
  const given = items.flatMap((item) => (item instanceof Problem ? [] : [item]));
  const outcomes = (await upsertAll(tenant_id, given, deps)).values();
  const faults: Error[] = [];
  const results = items.map((item, index) => {
    if (item instanceof Problem) return refused(index, item);
    const outcome = outcomes.next().value;
    if (outcome !== undefined && !(outcome instanceof Error)) {
      return { index, status: 200, member_id: item.member_id, created: outcome.created };
    }
    faults.push(outcome ?? new Error('The member was not stored.'));
    return refused(index, unavailable());
  });
  return { results, faults, accepted: given.length - faults.length };
}

/** The member, or the Problem that takes its place among the results where it breaks a rule. */
function readMember(raw: unknown, known: ReadonlySet<string>): GivenMember | Problem {
  try {
    const given = check(memberSchema, raw);
    const named = [
      ...(given.newsletters ?? []).map((id, i) => [id, `newsletters.${i}`] as const),
      ...Object.keys(given.unsubscribed ?? {}).map((id) => [id, `unsubscribed.${id}`] as const),
    ];
    const faults = named.flatMap(([id, path]) => (known.has(id) ? [] : [noNewsletter(path)]));
    if (faults.length > 0) throw invalid(faults);
    return defined(given) as GivenMember;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function refused(index: number, because: Problem) {
  const problem = problemDocument(because);
  return { index, status: problem.status, problem };
}

function noNewsletter(path: string): FieldFault {
  return {
    path,
    rule: 'existing_newsletter',
    message: 'must be a newsletter that exists: PUT /v1/newsletters/{newsletter_id} makes one',
  };
}

export const noMember = () => new Problem('not-found', 'There is no member with this id.');

/** What cannot be an id is answered like an unknown one. */
export const isMemberId = (text: string): boolean => text.length > 0 && [...text].length <= 50 && text.isWellFormed();
