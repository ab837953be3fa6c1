import { MEMBER_ROUTES } from '../../../src/application/contract/api/newsletter-routes.ts';
import {
  isMemberId,
  noMember,
  pageOfMembers,
  resubscribeMember,
  showOwnMember,
  type TenantMembersDeps,
  upsertOwnMembers,
} from '../../../src/application/members/tenant-members.ts';
import { unavailable } from '../../../src/core/model/problem.ts';
import { deleteMember } from '../../../src/core/newsletter/members/left-addresses.ts';
import { retryAfter } from '../../../src/http/kernel.ts';
import type { Observability } from '../runtime/observability.ts';
import { type ApiRequest, type ServedRoute, serve } from './api-function.ts';

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
