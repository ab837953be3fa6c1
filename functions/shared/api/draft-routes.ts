import { type EmailRequest, type PublicationDeps, toPublication } from '../../../src/adapters/api/email-request.ts';
import { draftTestSchema, emailSchema, replaceSchema, testSchema } from '../../../src/adapters/api/email-schemas.ts';
import { createIdentities, type Identities } from '../../../src/adapters/api/idempotency.ts';
import {
  acceptedEmail,
  acceptedOrDryRun,
  dryRunAnswer,
  testResults,
} from '../../../src/application/contract/emails.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import { type RequestDryRunDeps, requestDryRun, shownDryRun } from '../../../src/core/newsletter/lifecycle/dry-run.ts';
import {
  newEmail,
  type PublishDeps,
  publishEmail,
  replaceEmail,
} from '../../../src/core/newsletter/lifecycle/publish.ts';
import type { Email } from '../../../src/core/newsletter/model/email.ts';
import type { EmailStore, NewsletterQueues, NewsletterStore } from '../../../src/core/newsletter/model/ports.ts';
import { sendTestMail, type TestMailDeps } from '../../../src/core/newsletter/sending/test-mail.ts';
import type { Given } from '../../../src/http/kernel.ts';
import { type ApiRoute, REPLAYED, route } from './api-function.ts';
import type { Caller } from './caller.ts';

export interface DraftRouteDeps
  extends RequestDryRunDeps,
    TestMailDeps,
    PublicationDeps,
    Pick<PublishDeps, 'schedules'> {
  readonly emails: Pick<EmailStore, 'create' | 'read' | 'replace' | 'content'>;
  readonly queues: NewsletterQueues;
  readonly newsletters: Pick<NewsletterStore, 'read' | 'senders' | 'sendersAt'>;
  readonly newId: () => string;
  /** The key of what identifies requests. */
  readonly hashKey: () => Promise<string>;
}

/** Above the longest body of 256 KB, because JSON escapes make a text up to six times as long. */
const MAX_EMAIL_BYTES = 1024 * 1024 + 512 * 1024;

const WRITE = { scope: 'newsletters:write', max_bytes: MAX_EMAIL_BYTES } as const;
export const OPTIONAL_KEY = { needed: false, description: 'Accepted, and not remembered' };

type Find = (request: Pick<Given<Caller>, 'caller' | 'path'>) => Promise<Email>;

/** The routes by which a tenant writes an email: to see what it would do, to test it, to publish and to replace it. */
export function draftRoutes(deps: DraftRouteDeps, find: Find): ApiRoute[] {
  async function read(
    { caller: { tenant_id }, json }: Pick<Given<Caller>, 'caller' | 'json'>,
    request: EmailRequest,
    emailId: string | ((ids: Identities) => string),
  ) {
    const ids = createIdentities(await deps.hashKey());
    const email_id = typeof emailId === 'string' ? emailId : emailId(ids);
    return toPublication(request, { tenant_id, email_id, request_hash: ids.requestHash(json()) }, deps);
  }

  async function test(email: Email, content: Parameters<typeof sendTestMail>[0]['content'], to: readonly string[]) {
    const results = await sendTestMail({ email, content, to }, deps);
    return { body: { results }, log: { email_id: email.email_id, items: to.length } };
  }

  return [
    route({
      ...WRITE,
      key: 'POST /v1/emails',
      operation_id: 'publishEmail',
      summary: "Send an email to a newsletter's members; with `dry_run`, only say what would happen",
      idempotency: { needed: true, description: 'The same for every try of one request' },
      body: emailSchema,
      answer: {
        status: 202,
        description:
          'The email is stored. With `dry_run`, of more than 20,000 members: it goes on, and its result is kept for a day',
        schema: acceptedOrDryRun,
        headers: REPLAYED,
      },
      at_once: { description: 'The result of a dry run', schema: dryRunAnswer },
      problems: ['idempotency-key-reused'],
      async handle(given) {
        const { caller, idempotency_key } = given;
        const { dry_run, ...request } = given.body();
        const { publication, repeat } = await read(given, request, (ids) =>
          ids.emailIdOf(caller.tenant_id, idempotency_key),
        );
        const { email_id } = publication;
        if (dry_run === true) {
          const run = await requestDryRun(publication, deps);
          return { status: run.result ? 200 : 202, body: shownDryRun(run), log: { email_id, dry_run: true } };
        }
        const { status } = await publishEmail(publication, deps);
        const answer = { status: 202, body: { email_id, status }, log: { email_id, status } };
        return repeat ? { ...answer, headers: { 'idempotent-replayed': 'true' } } : answer;
      },
    }),
    route({
      key: 'GET /v1/emails/{email_id}/dry-run',
      operation_id: 'getDryRun',
      summary: 'Show the dry run of many members: its result, or how far it has come',
      scope: 'newsletters:read',
      answer: { status: 200, description: 'The dry run', schema: dryRunAnswer },
      problems: ['not-found'],
      async handle({ caller: { tenant_id }, path: { email_id = '' } }) {
        const run = /^[\w-]{1,50}$/.test(email_id) ? await deps.dry_runs.read(email_id) : undefined;
        if (run?.tenant_id !== tenant_id) {
          throw new Problem('not-found', 'There is no such dry run: it is kept for a day, if it had many members.');
        }
        return { body: shownDryRun(run), log: { email_id } };
      },
    }),
    route({
      ...WRITE,
      key: 'PUT /v1/emails/{email_id}',
      operation_id: 'replaceEmail',
      summary: 'Replace an email that has not started',
      body: replaceSchema,
      answer: { status: 202, description: 'It is replaced', schema: acceptedEmail },
      problems: ['not-found', 'conflict'],
      async handle(request) {
        const given = request.body();
        const email = await find(request);
        // An id that no email has: the time must be to come, whatever the email had before.
        const { publication } = await read(request, given, `${email.email_id}-next`);
        const { status } = await replaceEmail(email, publication, deps);
        return { status: 202, body: { email_id: email.email_id, status }, log: { email_id: email.email_id } };
      },
    }),
    route({
      ...WRITE,
      key: 'POST /v1/emails/test',
      operation_id: 'testDraft',
      summary: 'Send what is not published to up to 10 addresses with sample values; nothing is kept',
      idempotency: OPTIONAL_KEY,
      body: draftTestSchema,
      answer: { status: 200, description: 'One result per address', schema: testResults },
      async handle(given) {
        const { to, ...request } = given.body();
        const { publication } = await read(given, request, deps.newId());
        return test(newEmail(publication, deps), publication.content, to);
      },
    }),
    route({
      scope: 'newsletters:write',
      key: 'POST /v1/emails/{email_id}/test',
      operation_id: 'testEmail',
      summary: 'Send the email to up to 10 addresses with sample values, and count none',
      idempotency: OPTIONAL_KEY,
      body: testSchema,
      answer: { status: 200, description: 'One result per address', schema: testResults },
      problems: ['not-found', 'conflict'],
      async handle(request) {
        const { to } = request.body();
        const email = await find(request);
        const content = await deps.emails.content(email.email_id);
        if (content === undefined) throw new Problem('not-found', 'The email has no content any more.');
        return test(email, content, to);
      },
    }),
  ];
}
