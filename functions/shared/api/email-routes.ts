import {
  batchListQuery,
  emailListQuery,
  recipientListQuery,
  resolveSchema,
} from '../../../src/adapters/api/email-schemas.ts';
import {
  acceptedEmail,
  emailBatchList,
  emailList,
  emailState,
  recipientList,
  resolvedEmail,
} from '../../../src/application/contract/emails.ts';
import {
  batchPlace,
  emailPlace,
  fromCursor,
  recipientCursor,
  recipientPlace,
  toCursor,
} from '../../../src/application/cursor.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import {
  cancelEmail,
  type OperateDeps,
  pauseEmail,
  resumeEmail,
  retryEmail,
} from '../../../src/core/newsletter/lifecycle/operate.ts';
import { type ResolveDeps, resolveEmail } from '../../../src/core/newsletter/lifecycle/resolve.ts';
import type { Email } from '../../../src/core/newsletter/model/email.ts';
import type { EmailStore, EventStore } from '../../../src/core/newsletter/model/ports.ts';
import { emailSummary, emailView, shownResolved } from '../../../src/core/newsletter/views/email-view.ts';
import {
  listBatches,
  listRecipients,
  type RecipientsDeps,
} from '../../../src/core/newsletter/views/list-recipients.ts';
import type { Given, Reply } from '../../../src/http/kernel.ts';
import { type ApiRoute, route } from './api-function.ts';
import type { Caller } from './caller.ts';
import { type DraftRouteDeps, draftRoutes, OPTIONAL_KEY } from './draft-routes.ts';

export interface EmailRouteDeps extends Omit<OperateDeps, 'queues'>, DraftRouteDeps {
  readonly queues: OperateDeps['queues'];
  readonly emails: EmailStore;
  readonly batches: OperateDeps['batches'] & RecipientsDeps['batches'];
  readonly chunks: ResolveDeps['chunks'] & RecipientsDeps['chunks'];
  readonly events: Pick<EventStore, 'read' | 'list'>;
  /** Mails per second that the account may send now; undefined while it is not known. */
  readonly allowedRate: () => Promise<number | undefined>;
}

/** The routes by which a tenant publishes emails, follows them and decides about them. */
export function emailRoutes(deps: EmailRouteDeps): ApiRoute[] {
  const { emails, clock } = deps;

  /** @throws Problem not-found, also for an email of another tenant */
  async function find({ caller: { tenant_id }, path: { email_id = '' } }: Pick<Given<Caller>, 'caller' | 'path'>) {
    const email = /^[\w-]{1,50}$/.test(email_id) ? await emails.read(email_id) : undefined;
    if (email?.tenant_id !== tenant_id)
      throw new Problem('not-found', 'There is no email with this id: see GET /v1/emails.');
    return email;
  }

  const operation = (name: string, summary: string, run: (email_id: string, by: EmailRouteDeps) => Promise<Email>) =>
    route({
      scope: 'newsletters:write',
      key: `POST /v1/emails/{email_id}/${name}`,
      operation_id: `${name}Email`,
      summary,
      idempotency: OPTIONAL_KEY,
      answer: { status: 202, description: 'It is done', schema: acceptedEmail },
      problems: ['not-found', 'conflict'],
      handle: async (request) => accepted(await run((await find(request)).email_id, deps)),
    });

  return [
    ...draftRoutes(deps, find),
    route({
      scope: 'newsletters:read',
      key: 'GET /v1/emails',
      operation_id: 'listEmails',
      summary: "List the tenant's emails, newest first",
      query: emailListQuery,
      answer: { status: 200, description: 'Emails', schema: emailList },
      async handle({ caller: { tenant_id }, query }) {
        const { emails: found, next_cursor } = await emails.list(tenant_id, fromCursor(emailPlace, query().cursor));
        const now = clock();
        return {
          body: { emails: found.map((email) => emailSummary(email, now)), next_cursor: toCursor(next_cursor) },
          log: { items: found.length },
        };
      },
    }),
    route({
      scope: 'newsletters:read',
      key: 'GET /v1/emails/{email_id}',
      operation_id: 'getEmail',
      summary: 'Show how far an email is',
      answer: { status: 200, description: 'The email', schema: emailState },
      problems: ['not-found'],
      async handle(request) {
        // The row first: what is prepared afterwards is not shown, so the counts add up.
        const email = await find(request);
        const { email_id } = email;
        const [batches, events, allowed] = await Promise.all([
          // None counts before all are prepared; a refused preparation leaves as many as it made.
          email.prepared === undefined ? [] : deps.batches.list(email_id),
          deps.events.list(email_id),
          deps.allowedRate(),
        ]);
        return { body: emailView({ email, batches, events }, clock(), allowed), log: { email_id } };
      },
    }),
    route({
      scope: 'newsletters:read',
      key: 'GET /v1/emails/{email_id}/batches',
      operation_id: 'listBatches',
      summary: 'List the batches of an email, the excluded recipients last',
      query: batchListQuery,
      answer: { status: 200, description: 'Batches', schema: emailBatchList },
      problems: ['not-found'],
      async handle(request) {
        const { cursor, limit } = request.query();
        const after = fromCursor(batchPlace, cursor);
        const email = await find(request);
        const page = await listBatches(email, { limit: Number(limit), ...(after && { after }) }, deps.batches);
        const body = { batches: page.batches, next_cursor: toCursor(page.next) };
        return { body, log: { email_id: email.email_id, items: page.batches.length } };
      },
    }),
    route({
      scope: 'newsletters:read',
      key: 'GET /v1/emails/{email_id}/recipients',
      operation_id: 'listRecipients',
      summary:
        'List the recipients of an email. A page may be empty and yet have a next one; it may exceed the limit by 49',
      query: recipientListQuery,
      answer: { status: 200, description: 'Recipients', schema: recipientList },
      problems: ['not-found'],
      async handle(request) {
        const { state, cursor, limit } = request.query();
        const from = fromCursor(recipientPlace, cursor);
        const email = await find(request);
        const page = await listRecipients(
          {
            email,
            limit: Number(limit),
            identities: request.caller.scopes.includes('newsletters:write'),
            ...(state && { state }),
            ...(from && { from }),
          },
          deps,
        );
        const body = { recipients: page.recipients, next_cursor: recipientCursor(page.next) };
        return { body, log: { email_id: email.email_id, items: page.recipients.length } };
      },
    }),
    operation('retry', 'Send what a failed email has not submitted', retryEmail),
    operation('pause', 'Stop giving out batches', pauseEmail),
    operation('resume', 'Go on with a paused email', resumeEmail),
    operation(
      'cancel',
      'End an email: whoever has not been sent to is excluded, with the reason `cancelled`',
      cancelEmail,
    ),
    route({
      scope: 'newsletters:write',
      key: 'POST /v1/emails/{email_id}/resolve',
      operation_id: 'resolveEmail',
      summary: 'Decide about the uncertain recipients: send again, or leave it at that',
      idempotency: OPTIONAL_KEY,
      body: resolveSchema,
      answer: { status: 202, description: 'It is decided', schema: resolvedEmail },
      problems: ['not-found', 'conflict'],
      async handle(request) {
        const { action } = request.body();
        const { email_id } = await find(request);
        const { email, ...answer } = await resolveEmail(email_id, action, deps);
        const body = { email_id, status: email.status, ...shownResolved(answer) };
        return { body, log: { email_id, resolved: answer.resolved } };
      },
    }),
  ];
}

const accepted = ({ email_id, status }: Email): Reply => ({ body: { email_id, status }, log: { email_id } });
