import type * as v from 'valibot';
import {
  batchCursor,
  emailCursor,
  recipientCursor,
  recipientPlace,
  toCursor,
} from '../../../src/adapters/api/email-cursors.ts';
import { type PublicationDeps, toPublication } from '../../../src/adapters/api/email-request.ts';
import {
  batchListQuery,
  emailListQuery,
  emailSchema,
  recipientListQuery,
  resolveSchema,
  testSchema,
} from '../../../src/adapters/api/email-schemas.ts';
import { emailIdOf, requestHash } from '../../../src/adapters/api/idempotency.ts';
import { check, readIdempotencyKey, readOptionalIdempotencyKey } from '../../../src/adapters/api/read-request.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import {
  cancelEmail,
  type OperateDeps,
  pauseEmail,
  resumeEmail,
  retryEmail,
} from '../../../src/core/newsletter/lifecycle/operate.ts';
import { publishEmail } from '../../../src/core/newsletter/lifecycle/publish.ts';
import { type ResolveDeps, resolveEmail, shownResolved } from '../../../src/core/newsletter/lifecycle/resolve.ts';
import type { Email } from '../../../src/core/newsletter/model/email.ts';
import type { EmailStore, EventStore, NewsletterStore } from '../../../src/core/newsletter/model/ports.ts';
import { sendTestMail, type TestMailDeps } from '../../../src/core/newsletter/sending/test-mail.ts';
import { listBatches } from '../../../src/core/newsletter/views/batch-view.ts';
import { emailSummary, emailView } from '../../../src/core/newsletter/views/email-view.ts';
import { listRecipients, type RecipientsDeps } from '../../../src/core/newsletter/views/list-recipients.ts';
import type { ApiAnswer, ApiRequest, Route, Routes } from './api-function.ts';

export interface EmailRouteDeps extends OperateDeps, TestMailDeps {
  readonly emails: EmailStore;
  readonly batches: OperateDeps['batches'] & RecipientsDeps['batches'];
  readonly chunks: ResolveDeps['chunks'] & RecipientsDeps['chunks'];
  readonly events: Pick<EventStore, 'read' | 'list'>;
  readonly newsletters: Pick<NewsletterStore, 'read'>;
  readonly senderFault: PublicationDeps['senderFault'];
  /** Mails per second that the account may send now; undefined while it is not known. */
  readonly allowedRate: () => Promise<number | undefined>;
}

/** Above the longest body of 256 KB, because JSON escapes make a text up to six times as long. */
const MAX_EMAIL_BYTES = 1024 * 1024 + 512 * 1024;
const MAX_BYTES = 16 * 1024;

/** The routes by which a tenant publishes emails, follows them and decides about them. */
export function emailRoutes(deps: EmailRouteDeps): Routes {
  const { emails, clock } = deps;

  async function publish({ caller: { tenant_id }, headers, json }: ApiRequest): Promise<ApiAnswer> {
    const key = readIdempotencyKey(headers['idempotency-key']);
    const raw = json();
    const request = check(emailSchema, raw);
    const ids = { tenant_id, email_id: emailIdOf(tenant_id, key), request_hash: requestHash(raw) };
    const { publication, repeat } = await toPublication(request, ids, {
      readNewsletter: (newsletter_id) => deps.newsletters.read(tenant_id, newsletter_id),
      readEmail: emails.read,
      senderFault: deps.senderFault,
      now: clock(),
    });
    const answer = accepted(await publishEmail(publication, deps));
    return repeat ? { ...answer, headers: { 'idempotent-replayed': 'true' } } : answer;
  }

  async function list({ caller: { tenant_id }, query }: ApiRequest): Promise<ApiAnswer> {
    const { cursor } = check(emailListQuery, query);
    const { emails: found, next_cursor } = await emails.list(tenant_id, emailCursor(cursor));
    const now = clock();
    return {
      status: 200,
      body: { emails: found.map((email) => emailSummary(email, now)), next_cursor: toCursor(next_cursor) },
      log: { items: found.length },
    };
  }

  /** @throws Problem not-found, also for an email of another tenant */
  async function find({ caller: { tenant_id }, path: { email_id = '' } }: ApiRequest): Promise<Email> {
    const email = /^[\w-]{1,50}$/.test(email_id) ? await emails.read(email_id) : undefined;
    if (email?.tenant_id !== tenant_id)
      throw new Problem('not-found', 'There is no email with this id: see GET /v1/emails.');
    return email;
  }

  async function show(request: ApiRequest): Promise<ApiAnswer> {
    // The row first: what is prepared afterwards is not shown, so the counts add up.
    const email = await find(request);
    const { email_id } = email;
    const [batches, events, allowed] = await Promise.all([
      deps.batches.list(email_id),
      deps.events.list(email_id),
      deps.allowedRate(),
    ]);
    return { status: 200, body: emailView({ email, batches, events }, clock(), allowed), log: { email_id } };
  }

  async function batches(request: ApiRequest): Promise<ApiAnswer> {
    const { cursor, limit } = check(batchListQuery, request.query);
    const after = batchCursor(cursor);
    const { email_id } = await find(request);
    const page = await listBatches(email_id, { limit: Number(limit), ...(after && { after }) }, deps.batches);
    const body = { batches: page.batches, next_cursor: toCursor(page.next) };
    return { status: 200, body, log: { email_id, items: page.batches.length } };
  }

  async function recipients(request: ApiRequest): Promise<ApiAnswer> {
    const { state, cursor, limit } = check(recipientListQuery, request.query);
    const from = recipientCursor(cursor);
    const { email_id } = await find(request);
    const page = await listRecipients(
      {
        email_id,
        limit: Number(limit),
        identities: request.caller.scopes.includes('newsletters:write'),
        ...(state && { state }),
        ...(from && { from }),
      },
      deps,
    );
    const body = { recipients: page.recipients, next_cursor: toCursor(recipientPlace(page.next)) };
    return { status: 200, body, log: { email_id, items: page.recipients.length } };
  }

  const operation =
    (run: (email_id: string, by: EmailRouteDeps) => Promise<Email>) =>
    async (request: ApiRequest): Promise<ApiAnswer> => {
      readOptionalIdempotencyKey(request.headers['idempotency-key']);
      const { email_id } = await find(request);
      return accepted(await run(email_id, deps));
    };

  async function test(request: ApiRequest): Promise<ApiAnswer> {
    const { to } = checkedBody(request, testSchema);
    const email = await find(request);
    const content = await emails.content(email.email_id);
    if (content === undefined) throw new Problem('not-found', 'The email has no content any more.');
    const results = await sendTestMail({ email, content, to }, deps);
    return { status: 200, body: { results }, log: { email_id: email.email_id, items: to.length } };
  }

  async function resolve(request: ApiRequest): Promise<ApiAnswer> {
    const { action } = checkedBody(request, resolveSchema);
    const { email_id } = await find(request);
    const { email, ...answer } = await resolveEmail(email_id, action, deps);
    const body = { email_id, status: email.status, ...shownResolved(answer) };
    return { status: 202, body, log: { email_id, resolved: answer.resolved } };
  }

  const read = (handle: Route['handle']): Route => ({ scope: 'newsletters:read', max_bytes: MAX_BYTES, handle });
  const write = (handle: Route['handle'], max_bytes = MAX_BYTES): Route => ({
    scope: 'newsletters:write',
    max_bytes,
    handle,
  });
  return {
    'POST /v1/emails': write(publish, MAX_EMAIL_BYTES),
    'GET /v1/emails': read(list),
    'GET /v1/emails/{email_id}': read(show),
    'GET /v1/emails/{email_id}/batches': read(batches),
    'GET /v1/emails/{email_id}/recipients': read(recipients),
    'POST /v1/emails/{email_id}/retry': write(operation(retryEmail)),
    'POST /v1/emails/{email_id}/pause': write(operation(pauseEmail)),
    'POST /v1/emails/{email_id}/resume': write(operation(resumeEmail)),
    'POST /v1/emails/{email_id}/cancel': write(operation(cancelEmail)),
    'POST /v1/emails/{email_id}/test': write(test),
    'POST /v1/emails/{email_id}/resolve': write(resolve),
  };
}

function checkedBody<S extends v.GenericSchema>({ headers, json }: ApiRequest, schema: S): v.InferOutput<S> {
  readOptionalIdempotencyKey(headers['idempotency-key']);
  return check(schema, json());
}

function accepted({ email_id, status }: Email): ApiAnswer {
  return { status: 202, body: { email_id, status }, log: { email_id } };
}
