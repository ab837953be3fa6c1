import { MEMBER_ROUTES } from '../../../src/application/contract/api/newsletter-routes.ts';
import { memberSchema } from '../../../src/application/contract/api/newsletters.ts';
import { addressPlace, fromCursor, toCursor } from '../../../src/application/cursor.ts';
import type { Scope } from '../../../src/core/intake/api-scopes.ts';
import { type FieldFault, Problem, problemDocument, unavailable } from '../../../src/core/model/problem.ts';
import { deleteMember } from '../../../src/core/newsletter/members/left-addresses.ts';
import {
  type GivenMember,
  resubscribe,
  type UpsertDeps,
  upsertAll,
} from '../../../src/core/newsletter/members/upsert-members.ts';
import { type AddressFacts, ifReadable, type StoredMember } from '../../../src/core/newsletter/model/member.ts';
import type { MemberStore, NewsletterStore } from '../../../src/core/newsletter/model/ports.ts';
import { check, invalid } from '../../../src/http/check.ts';
import { type Reply, retryAfter } from '../../../src/http/kernel.ts';
import type { Observability } from '../runtime/observability.ts';
import { type ApiRequest, type ServedRoute, serve } from './api-function.ts';

export interface MemberRouteDeps extends UpsertDeps {
  readonly members: MemberStore;
  readonly newsletters: Pick<NewsletterStore, 'list' | 'read'>;
}

/** The routes by which a tenant keeps its members. Addresses appear in answers only, never in the log. */
export function memberRoutes(deps: MemberRouteDeps, { logger }: Pick<Observability, 'logger'>): ServedRoute[] {
  const { members, newsletters, sealing } = deps;

  async function upsert(tenant_id: string, raw: readonly unknown[]): Promise<Reply> {
    const known = new Set((await newsletters.list(tenant_id)).map(({ newsletter_id }) => newsletter_id));
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
    if (faults.length > 0)
      logger.error('members failed on our side', { count: faults.length, error: faults[0] as Error });
    if (faults.length === items.length) throw unavailable();
    return {
      body: { results },
      ...(faults.length > 0 && { headers: retryAfter(unavailable()) }),
      log: { items: items.length, accepted: given.length - faults.length },
    };
  }

  /** @throws Problem not-found */
  async function find(tenant_id: string, { member_id = '' }: ApiRequest['path']): Promise<StoredMember> {
    const found = isId(member_id) ? await members.read(tenant_id, member_id) : undefined;
    if (found === undefined) throw noMember();
    return found;
  }

  /** Also the rest of an address that has more members than a page. */
  async function* pagesFrom(tenant_id: string, from?: { readonly email_hash: string; readonly member_id?: string }) {
    const { email_hash, member_id } = from ?? {};
    if (email_hash !== undefined && member_id !== undefined) {
      const entry = await members.address(tenant_id, email_hash);
      // In the order of their bytes, as they are stored.
      const rest = entry?.members.filter(
        (one) => Buffer.compare(Buffer.from(one.member_id), Buffer.from(member_id)) > 0,
      );
      if (entry && rest?.length) yield [{ ...entry, members: rest }];
    }
    yield* members.addresses(tenant_id, email_hash);
  }

  async function factsOf({ tenant_id, email_hash }: StoredMember): Promise<AddressFacts | undefined> {
    return (await members.facts(tenant_id, [email_hash])).get(email_hash);
  }

  /** @param scopes who may only read lists no audience: members without their addresses */
  async function shown(member: StoredMember, scopes: readonly Scope[], facts: AddressFacts | undefined) {
    const { tenant_id: _, email_hash: __, sealed_identity: ___, ...rest } = member;
    return {
      ...rest,
      ...(scopes.includes('newsletters:write') && (await ifReadable(sealing.openMember(member)))),
      unsubscribed: facts?.unsubscribed ?? {},
      ...(facts?.suppressed && { suppressed: facts.suppressed }),
    };
  }

  return serve(MEMBER_ROUTES, {
    upsertMembers: ({ caller, body }) => upsert(caller.tenant_id, body().members),
    async listMembers({ caller: { tenant_id, scopes }, query }) {
      const { cursor, limit } = query();
      const most = Number(limit);
      const found: Promise<Awaited<ReturnType<typeof shown>>>[] = [];
      let last: string | undefined;
      for await (const page of pagesFrom(tenant_id, fromCursor(addressPlace, cursor))) {
        for (const { email_hash, members: same, facts } of page) {
          found.push(...same.slice(0, most).map((member) => shown(member, scopes, facts)));
          last = same.length > most ? `${email_hash} ${same[most - 1]?.member_id}` : email_hash;
          if (found.length >= most) break;
        }
        // Even one without members: a request takes no longer than a page.
        if (last !== undefined) break;
      }
      const body = { members: await Promise.all(found), next_cursor: toCursor(last) };
      return { body, log: { items: found.length } };
    },
    async getMember({ caller, path }) {
      const member = await find(caller.tenant_id, path);
      return { body: await shown(member, caller.scopes, await factsOf(member)), log: { member_id: member.member_id } };
    },
    async deleteMember({ caller, path: { member_id = '' } }) {
      if (!isId(member_id) || !(await deleteMember(caller.tenant_id, member_id, 'deleted', deps))) throw noMember();
      return { body: { member_id }, log: { member_id } };
    },
    async resubscribeMember({ caller: { tenant_id, scopes }, path, body }) {
      const { newsletter_id } = body();
      const member = await find(tenant_id, path);
      if ((await newsletters.read(tenant_id, newsletter_id)) === undefined)
        throw invalid([noNewsletter('newsletter_id')]);
      const subscribed = await resubscribe(member, newsletter_id, deps);
      return {
        body: await shown(subscribed, scopes, await factsOf(subscribed)),
        log: { member_id: member.member_id, newsletter_id },
      };
    },
  });
}

/** A member that breaks rules becomes its Problem, which takes the member's place among the results. */
function readMember(raw: unknown, known: ReadonlySet<string>): GivenMember | Problem {
  try {
    const given = check(memberSchema, raw);
    const named = [
      ...(given.newsletters ?? []).map((id, i) => [id, `newsletters.${i}`] as const),
      ...Object.keys(given.unsubscribed ?? {}).map((id) => [id, `unsubscribed.${id}`] as const),
    ];
    const faults = named.flatMap(([id, path]) => (known.has(id) ? [] : [noNewsletter(path)]));
    if (faults.length > 0) throw invalid(faults);
    return Object.fromEntries(
      Object.entries(given).filter(([, value]) => value !== undefined),
    ) as unknown as GivenMember;
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

function noMember(): Problem {
  return new Problem('not-found', 'There is no member with this id.');
}

/** What cannot be an id is answered like an unknown one. */
const isId = (text: string): boolean => text.length > 0 && [...text].length <= 50 && text.isWellFormed();
