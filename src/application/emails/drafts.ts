import { Problem } from '../../core/model/problem.ts';
import { type RequestDryRunDeps, requestDryRun } from '../../core/newsletter/lifecycle/dry-run.ts';
import { newEmail, publishEmail, replaceEmail } from '../../core/newsletter/lifecycle/publish.ts';
import type { Email, EmailContent } from '../../core/newsletter/model/email.ts';
import type { NewsletterQueues, NewsletterStore } from '../../core/newsletter/model/ports.ts';
import { sendTestMail, type TestMailDeps, type TestMailResult } from '../../core/newsletter/sending/test-mail.ts';
import { type Decision, decisionOf } from '../../core/operator/audit.ts';
import { check } from '../../http/check.ts';
import { replaceSchema, testSchema } from '../contract/api/emails.ts';
import { createIdentities, type Identities } from '../requests/idempotency.ts';
import { type EmailAccess, type EmailDeps, isEmailId, isOf, requireEmail } from './emails.ts';
import { type EmailRequest, type PublicationDeps, toPublication } from './publication.ts';

/** What it takes to write an email: to see what it would do, to test it, to publish and to replace it. */
export interface DraftDeps extends EmailDeps, RequestDryRunDeps, TestMailDeps, PublicationDeps {
  readonly emails: EmailDeps['emails'];
  readonly queues: NewsletterQueues;
  readonly newsletters: Pick<NewsletterStore, 'read' | 'senders' | 'sendersAt'>;
  /** The key of what identifies requests. */
  readonly hashKey: () => Promise<string>;
}

export type DraftAccess = DraftDeps & EmailAccess;

interface Draft {
  readonly tenant_id: string;
  readonly request: EmailRequest;
  /** What a repeated request is compared by, where it is not the request itself. */
  readonly asked?: unknown;
  /** The id that the email would have, or what makes it. */
  readonly email_id: string | ((ids: Identities, request_hash: string) => string);
}

/** A draft as it would be published. @throws Problem that names all that is wrong */
export async function publicationOf({ tenant_id, request, asked = request, email_id }: Draft, access: DraftDeps) {
  const ids = createIdentities(await access.hashKey());
  const request_hash = ids.requestHash(asked);
  const id = typeof email_id === 'string' ? email_id : email_id(ids, request_hash);
  return toPublication(request, { tenant_id, email_id: id, request_hash }, access);
}

/** A draft of the page. A request that is repeated means the same email. @throws Problem */
export function draftOfPage(tenant_id: string, request_id: string, request: EmailRequest): Draft {
  const email_id = ({ emailIdOf }: Identities) => emailIdOf(tenant_id, `console ${request_id}`);
  return { tenant_id, request, email_id };
}

export async function dryRunOf(draft: Draft, access: DraftDeps) {
  const { publication } = await publicationOf(draft, access);
  return requestDryRun(publication, access);
}

/** @throws Problem not-found; a dry run is kept for a day if it had many members */
export async function keptDryRun(email_id: string, access: DraftAccess) {
  const run = isEmailId(email_id) ? await access.dry_runs.read(email_id) : undefined;
  if (run !== undefined && isOf(access, run.tenant_id)) return run;
  throw new Problem('not-found', 'There is no such dry run: one of many members is kept for a day.');
}

/** An email with what its mails lack, as sentences. */
export type Published = Email & { readonly warnings?: readonly string[] };
type Found = Awaited<ReturnType<typeof toPublication>>;

export function publish({ publication, repeat, warnings }: Found, access: DraftDeps): Decision<Published> {
  const { email_id, tenant_id: tenant, content } = publication;
  const details = { tenant, newsletter: content.newsletter.newsletter_id };
  return decisionOf({ what: 'email.send', on: [email_id], details }, async () => ({
    answer: { ...(await publishEmail(publication, access)), ...(warnings && { warnings }) },
    result: { [repeat ? 'repeated' : 'published']: 1 },
  }));
}

/** A stored email, as it may be tested or written anew. @throws Problem not-found */
export async function storedEmail(id: string, access: DraftAccess) {
  const email = await requireEmail(id, access);
  const content = await access.emails.content(email.email_id);
  if (content === undefined) throw new Problem('not-found', `The email ${id} has no content any more.`);
  return { email, content };
}

/** The part of a draft that a test mail needs. */
export async function draftEmail(draft: Draft, access: DraftDeps) {
  const { publication } = await publicationOf(draft, access);
  return { email: newEmail(publication, access), content: publication.content };
}

/** @throws Problem */
export function sendTest(
  tested: { readonly email: Email; readonly content: EmailContent; readonly to: readonly string[] },
  access: DraftDeps,
): Decision<readonly TestMailResult[]> {
  check(testSchema, { to: tested.to });
  return decisionOf({ what: 'email.test', on: [tested.email.email_id] }, async () => {
    const results = await sendTestMail(tested, access);
    return { answer: results, result: { sent: results.filter(({ accepted }) => accepted).length } };
  });
}

/** Replaces an email that has not started; `known_at` as `replaceEmail` takes it. @throws Problem */
export async function replaceBy(
  email: Email,
  asked: object,
  access: DraftDeps,
  known_at?: string,
): Promise<Decision<Published>> {
  const { email_id, tenant_id } = email;
  const request = check(replaceSchema, asked);
  // Checked under an id that no email has: the new time must be in the future, whatever the old one was.
  const { publication, warnings } = await publicationOf({ tenant_id, request, email_id: `${email_id}-next` }, access);
  const details = { tenant: tenant_id, request: publication.request_hash };
  return decisionOf({ what: 'email.replace', on: [email_id], details }, async () => ({
    answer: { ...(await replaceEmail(email, publication, access, known_at)), ...(warnings && { warnings }) },
    result: { replaced: 1 },
  }));
}
