import * as v from 'valibot';
import { MEMBER_ROUTES, NEWSLETTER_ROUTES } from '../../../src/application/contract/api/newsletter-routes.ts';
import { newsletterId } from '../../../src/application/contract/api/newsletters.ts';
import { fromCursor, toCursor } from '../../../src/application/cursor.ts';
import {
  isMemberId,
  noMember,
  pageOfMembers,
  resubscribeMember,
  showOwnMember,
  type TenantMembersDeps,
  upsertOwnMembers,
} from '../../../src/application/members/tenant-members.ts';
import { decideNewsletter, shownNewsletter } from '../../../src/application/newsletters.ts';
import { Problem, unavailable } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { deleteMember } from '../../../src/core/newsletter/members/left-addresses.ts';
import type { NewsletterStore } from '../../../src/core/newsletter/model/ports.ts';
import { retryAfter } from '../../../src/http/kernel.ts';
import type { Observability } from '../runtime/observability.ts';
import { type ApiRequest, done, type ServedRoute, serve } from './api-function.ts';

export interface NewsletterRouteDeps {
  readonly newsletters: NewsletterStore;
  readonly clock: Clock;
}

/** The routes by which a tenant sets up its newsletters. */
export function newsletterRoutes(deps: NewsletterRouteDeps): ServedRoute[] {
  const { newsletters } = deps;
  return serve(NEWSLETTER_ROUTES, {
    async listNewsletters({ caller: { tenant_id }, query }) {
      const { cursor, limit } = query();
      const most = Number(limit);
      const found = await newsletters.list(tenant_id, { after: fromCursor(newsletterId, cursor), limit: most + 1 });
      const page = found.slice(0, most);
      const next_cursor = toCursor(found.length > most ? page.at(-1)?.newsletter_id : undefined);
      return { body: { newsletters: page.map(shownNewsletter), next_cursor }, log: { items: page.length } };
    },
    async putNewsletter({ caller: { tenant_id: tenant }, path: { newsletter_id = '' }, body }) {
      const stored = await done(decideNewsletter({ tenant, newsletter_id }, body(), deps));
      return { body: shownNewsletter(stored), log: { newsletter_id } };
    },
    async getNewsletter({ caller: { tenant_id }, path: { newsletter_id = '' } }) {
      const found = v.is(newsletterId, newsletter_id) ? await newsletters.read(tenant_id, newsletter_id) : undefined;
      if (found === undefined)
        throw new Problem('not-found', 'There is no newsletter with this id: see GET /v1/newsletters.');
      return { body: shownNewsletter(found), log: { newsletter_id } };
    },
  });
}

/** The routes by which a tenant keeps its members. Addresses appear in answers only, never in the log. */
export function memberRoutes(deps: TenantMembersDeps, { logger }: Pick<Observability, 'logger'>): ServedRoute[] {
  return serve(MEMBER_ROUTES, {
    async upsertMembers({ caller, body }) {
      const { results, faults, accepted } = await upsertOwnMembers(caller.tenant_id, body().members, deps);
      const [error] = faults;
      if (error !== undefined) logger.error('members failed on our side', { count: faults.length, error });
      if (faults.length === results.length) throw unavailable();
      const headers = error && retryAfter(unavailable());
      return { body: { results }, ...(headers && { headers }), log: { items: results.length, accepted } };
    },
    async listMembers({ caller: { tenant_id }, query }) {
      const { cursor, limit } = query();
      const body = await pageOfMembers({ tenant_id, cursor, limit: Number(limit) }, deps);
      return { body, log: { items: body.members.length } };
    },
    async getMember(request) {
      const body = await showOwnMember(memberIn(request), deps);
      return { body, log: { member_id: body.member_id } };
    },
    async deleteMember({ caller, path: { member_id = '' } }) {
      if (!isMemberId(member_id) || !(await deleteMember(caller.tenant_id, member_id, 'deleted', deps)))
        throw noMember();
      return { body: { member_id }, log: { member_id } };
    },
    async resubscribeMember(request) {
      const { newsletter_id } = request.body();
      const body = await resubscribeMember(memberIn(request), newsletter_id, deps);
      return { body, log: { member_id: body.member_id, newsletter_id } };
    },
  });
}

/** Who may only read lists no audience: members without their addresses. */
function memberIn({ caller: { tenant_id, scopes }, path: { member_id = '' } }: Pick<ApiRequest, 'caller' | 'path'>) {
  return { tenant_id, member_id, identities: scopes.includes('newsletters:write') };
}
