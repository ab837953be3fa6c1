import { EMAIL_ROUTES } from '../../../src/application/contract/api/newsletter-routes.ts';
import { batchPlace, fromCursor, toCursor } from '../../../src/application/cursor.ts';
import {
  type DraftDeps,
  draftEmail,
  keptDryRun,
  type Published,
  publicationOf,
  publish,
  replaceBy,
  sendTest,
  storedEmail,
} from '../../../src/application/emails/drafts.ts';
import {
  decideEmail,
  listEmails,
  pageOfRecipients,
  requireEmail,
  resolveUncertain,
  showEmail,
} from '../../../src/application/emails/emails.ts';
import { type PreviewDeps, previewedDraft, previewOf } from '../../../src/application/emails/preview.ts';
import { requestDryRun, shownDryRun } from '../../../src/core/newsletter/lifecycle/dry-run.ts';
import { shownResolved } from '../../../src/core/newsletter/views/email-view.ts';
import { listBatches } from '../../../src/core/newsletter/views/list-recipients.ts';
import { type ApiRequest, done, type ServedRoute, serve } from './api-function.ts';

/** The routes by which a tenant writes, tests, publishes and replaces emails, follows them and decides about them. */
export function emailRoutes(deps: PreviewDeps): ServedRoute[] {
  const ofTenant = ({ caller: { tenant_id } }: Pick<ApiRequest, 'caller'>) => ({ ...deps, tenant_id });
  const decide = (action: Parameters<typeof decideEmail>[1]) => async (request: ApiRequest) =>
    accepted(await done(decideEmail(idIn(request), action, ofTenant(request))));

  return serve(EMAIL_ROUTES, {
    async listEmails({ caller: { tenant_id: tenant }, query }) {
      const body = await listEmails({ tenant, cursor: query().cursor }, deps, { rates: false });
      return { body, log: { items: body.emails.length } };
    },
    async publishEmail({ caller: { tenant_id }, idempotency_key, json, body }) {
      const { dry_run, ...request } = body();
      const draft = { tenant_id, request, asked: json() };
      const found = await publicationOf(
        { ...draft, email_id: ({ emailIdOf }) => emailIdOf(tenant_id, idempotency_key) },
        deps,
      );
      const { email_id } = found.publication;
      if (dry_run === true) {
        const run = await requestDryRun(found.publication, deps);
        return { status: run.result ? 200 : 202, body: shownDryRun(run), log: { email_id, dry_run: true } };
      }
      const answer = accepted(await done(publish(found, deps)));
      return found.repeat ? { ...answer, headers: { 'idempotent-replayed': 'true' } } : answer;
    },
    async getDryRun(request) {
      const run = await keptDryRun(idIn(request), ofTenant(request));
      return { body: shownDryRun(run), log: { email_id: run.email_id } };
    },
    async replaceEmail(request) {
      const asked = request.body();
      return accepted(await done(replaceBy(await requireEmail(idIn(request), ofTenant(request)), asked, deps)));
    },
    async previewDraft({ caller: { tenant_id }, body }) {
      const { member_id, ...request } = body();
      return previewed(await previewedDraft(tenant_id, request, deps), member_id, deps);
    },
    async previewEmail(request) {
      const { member_id } = request.body();
      return previewed(await storedEmail(idIn(request), ofTenant(request)), member_id, deps);
    },
    async testDraft({ caller: { tenant_id }, body }) {
      const { to, ...request } = body();
      return tested({ ...(await draftEmail({ tenant_id, request, email_id: deps.newId() }, deps)), to }, deps);
    },
    async testEmail(request) {
      const { to } = request.body();
      return tested({ ...(await storedEmail(idIn(request), ofTenant(request))), to }, deps);
    },
    async getEmail(request) {
      const { email, view } = await showEmail(idIn(request), ofTenant(request));
      return { body: view, log: { email_id: email.email_id } };
    },
    async listBatches(request) {
      const { cursor, limit } = request.query();
      const after = fromCursor(batchPlace, cursor);
      const email = await requireEmail(idIn(request), ofTenant(request));
      const page = await listBatches(email, { limit: Number(limit), ...(after && { after }) }, deps.batches);
      const body = { batches: page.batches, next_cursor: toCursor(page.next) };
      return { body, log: { email_id: email.email_id, items: page.batches.length } };
    },
    async listRecipients(request) {
      const { limit, ...asked } = request.query();
      const identities = request.caller.scopes.includes('newsletters:write');
      const wanted = { ...asked, limit: Number(limit), identities };
      const body = await pageOfRecipients(idIn(request), wanted, ofTenant(request));
      return { body, log: { email_id: idIn(request), items: body.recipients.length } };
    },
    retryEmail: decide('retry'),
    pauseEmail: decide('pause'),
    resumeEmail: decide('resume'),
    cancelEmail: decide('cancel'),
    async resolveEmail(request) {
      const { action } = request.body();
      const decision = resolveUncertain(idIn(request), action, ofTenant(request));
      const { email_id, status, ...reached } = await done(decision);
      const body = { email_id, status, ...shownResolved(reached) };
      return { body, log: { email_id, resolved: reached.resolved } };
    },
  });
}

const idIn = ({ path: { email_id = '' } }: Pick<ApiRequest, 'path'>): string => email_id;

const accepted = ({ email_id, status, warnings }: Pick<Published, 'email_id' | 'status' | 'warnings'>) => ({
  body: { email_id, status, ...(warnings && { warnings }) },
  log: { email_id, status },
});

async function previewed(shown: Parameters<typeof previewOf>[0], member_id: string | undefined, deps: PreviewDeps) {
  return { body: await done(previewOf(shown, member_id, deps)), log: member_id === undefined ? {} : { member_id } };
}

async function tested(draft: Parameters<typeof sendTest>[0], deps: DraftDeps) {
  const results = await done(sendTest(draft, deps));
  return { body: { results }, log: { email_id: draft.email.email_id, items: draft.to.length } };
}
