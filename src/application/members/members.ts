import { createMemberStore } from '../../adapters/dynamodb/newsletter/member-store.ts';
import type { ExportedMember } from '../../adapters/member-files/own-format.ts';
import { createMemberSealing } from '../../adapters/recipient/member-sealing.ts';
import { Problem } from '../../core/model/problem.ts';
import {
  type AddressFacts,
  ifReadable,
  newslettersSentTo,
  type StoredMember,
  type SubscriptionState,
  subscriptionState,
} from '../../core/newsletter/model/member.ts';
import type { MemberStore } from '../../core/newsletter/model/ports.ts';
import { decisionOf } from '../../core/operator/audit.ts';
import { invalid } from '../../http/check.ts';
import type { OperatorDeps } from '../deps.ts';
import { newsletterStore } from '../newsletters.ts';
import { knownOf, pageOfMembers } from './tenant-members.ts';

export function memberAccess({ deployment, dynamodb, clock, newId }: OperatorDeps) {
  let loading: Promise<string> | undefined;
  const hashKey = () => {
    loading ??= deployment.recipientHashKey();
    return loading;
  };
  return {
    members: createMemberStore(dynamodb, deployment.tables.members, clock),
    newsletters: newsletterStore({ dynamodb, deployment }),
    sealing: createMemberSealing(deployment.sealer(dynamodb), hashKey),
    hashKey,
    clock,
    newId,
  };
}

export type MemberAccess = ReturnType<typeof memberAccess>;

/** An address of a tenant: that of a member, or the address itself. */
export type NamedAddress = { readonly tenant: string } & (
  | { readonly member_id: string }
  | { readonly address: string }
);

/** @throws Problem not-found, or invalid-request for what is no address */
async function hashOf(named: NamedAddress, { members, sealing }: MemberAccess): Promise<string> {
  const { tenant } = named;
  if ('member_id' in named) {
    const member = await members.read(tenant, named.member_id);
    if (member !== undefined) return member.email_hash;
    throw new Problem('not-found', `${tenant} has no member ${named.member_id}: look by --email.`);
  }
  const address = sealing.mailbox(named.address);
  if (address !== undefined) return sealing.emailHash(tenant, address);
  throw invalid([{ path: 'email', rule: 'address', message: 'must be one address, such as name@example.com' }]);
}

/** The members of an address, and what is known of the address. The audit log keeps who was shown it. @throws Problem */
export async function showMembers(named: NamedAddress, access: MemberAccess) {
  const { tenant } = named;
  const hash = await hashOf(named, access);
  return decisionOf(
    { what: 'member.show', on: [nameOf(named, hash)], details: { tenant }, shows: true } as const,
    async () => {
      const answer = await membersOf(named, hash, access);
      return { answer, result: { shown: answer.members.length } };
    },
  );
}

/** A member, whose identity stays sealed, and its last moves. @throws Problem not-found */
export async function requireMember(
  tenant: string,
  member_id: string,
  { members }: { readonly members: Pick<MemberStore, 'find'> },
) {
  const found = await members.find(tenant, [member_id]);
  const [member] = found.members;
  if (member !== undefined) return { ...member, moves: found.places.get(member_id)?.moves ?? [] };
  throw new Problem('not-found', `${tenant} has no member ${member_id}: look by the address.`);
}

/** A member without address and name, and what is known of the address. @throws Problem not-found */
export async function memberForPage(tenant: string, id: string, access: MemberAccess) {
  const { email_hash, ...member } = await requireMember(tenant, id, access);
  const { tenant_id, member_id, status, labels, newsletters, created_at } = member;
  const facts = await access.members.facts(tenant, [email_hash]);
  const known = facts.get(email_hash);
  const gets = newslettersSentTo(member, known);
  return { tenant_id, member_id, status, labels, newsletters, gets, created_at, ...knownOf(known) };
}

/** Milliseconds for which a page reads: members of a state may be few among millions. */
const READS_MS = 2_000;

interface MembersWanted {
  readonly tenant: string;
  readonly newsletter?: string | undefined;
  readonly state?: SubscriptionState | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Members without address and name, by where they stand with a newsletter; a page may be empty, and not the last one. */
export async function listMembers({ tenant, newsletter, state, ...page }: MembersWanted, access: MemberAccess) {
  const until = access.clock().getTime() + READS_MS;
  const wanted = {
    tenant_id: tenant,
    ...page,
    identities: false,
    goesOn: () => access.clock().getTime() < until,
    fits(member: StoredMember, facts: AddressFacts | undefined) {
      const found = subscriptionState(member, facts, newsletter);
      return state === undefined ? newsletter === undefined || found !== 'none' : found === state;
    },
  };
  const { members, next_cursor } = await pageOfMembers(wanted, access);
  const listed = members.map(({ member_id, status, labels, newsletters, created_at, unsubscribed, suppressed }) => {
    const known = { unsubscribed, ...(suppressed && { suppressed }) };
    const gets = newslettersSentTo({ newsletters }, known);
    const stands = subscriptionState({ newsletters }, known, newsletter);
    return { member_id, status, labels, newsletters, gets, created_at, ...known, state: stands };
  });
  return { members: listed, next_cursor };
}

/** For the audit log: never the address. */
const nameOf = (named: NamedAddress, hash: string): string => ('member_id' in named ? named.member_id : hash);

async function membersOf(named: NamedAddress, hash: string, access: MemberAccess) {
  const { tenant } = named;
  const entry = await access.members.address(tenant, hash);
  if (entry === undefined) throw new Problem('not-found', `${tenant} knows nothing of this address.`);
  const chosen = entry.members.filter(({ member_id }) => !('member_id' in named) || member_id === named.member_id);
  const members = await Promise.all(
    chosen.map(async (stored) => {
      const { email_hash: _, sealed_identity: __, tenant_id: ___, came_at: ____, ...member } = stored;
      return { ...member, ...(await access.sealing.openMember(stored)) };
    }),
  );
  return { members, ...knownOf(entry.facts) };
}

/** Ends all newsletters to an address, or lifts that. The audit log names the member or the hash. @throws Problem */
export async function suppressAddress(named: NamedAddress, action: 'suppress' | 'unsuppress', access: MemberAccess) {
  const { tenant } = named;
  const hash = await hashOf(named, access);
  return decisionOf({ what: `member.${action}`, on: [nameOf(named, hash)], details: { tenant } }, async () => {
    const at = access.clock().toISOString();
    if (action === 'suppress') await access.members.suppress(tenant, hash, { reason: 'operator', at });
    else await access.members.unsuppress(tenant, hash);
    const suppressed = (await access.members.facts(tenant, [hash])).get(hash)?.suppressed;
    return { answer: { suppressed: suppressed ?? null }, result: { changed: 1 } };
  });
}

/** The members of a tenant, or those of one of its newsletters, page by page. */
export async function* exportedMembers(
  tenant: string,
  newsletter: string | undefined,
  { members, sealing }: MemberAccess,
) {
  for await (const page of members.addresses(tenant)) {
    const opened = await Promise.all(
      page.map(async ({ members: found, facts }) => {
        const { unsubscribed = {}, suppressed } = facts ?? {};
        const concerns = (ids: readonly string[]) =>
          newsletter === undefined || ids.includes(newsletter) || Object.hasOwn(unsubscribed, newsletter);
        return Promise.all(
          found
            .filter(({ newsletters }) => concerns(newsletters))
            .map(async (stored): Promise<ExportedMember | undefined> => {
              const { member_id, status, labels, newsletters, created_at } = stored;
              const identity = await ifReadable(sealing.openMember(stored));
              return (
                identity && {
                  member_id,
                  ...identity,
                  status,
                  labels,
                  newsletters,
                  created_at,
                  ...(Object.keys(unsubscribed).length > 0 && { unsubscribed: sorted(unsubscribed) }),
                  ...(suppressed && { suppressed: { reason: suppressed.reason, at: suppressed.at } }),
                }
              );
            }),
        );
      }),
    );
    const without_member = page.filter((entry) => entry.members.length === 0 && entry.facts !== undefined).length;
    const exported = opened.flat().filter((one) => one !== undefined);
    yield { members: exported, without_member, unreadable: opened.flat().length - exported.length };
  }
}

function sorted(times: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(times).sort(([a], [b]) => (a < b ? -1 : 1)));
}
