import { setTimeout } from 'node:timers/promises';
import { SESv2Client } from '@aws-sdk/client-sesv2';
import { type EmailRequest, toPublication } from '../adapters/api/email-request.ts';
import { replaceSchema, testSchema } from '../adapters/api/email-schemas.ts';
import { createIdentities, type Identities } from '../adapters/api/idempotency.ts';
import { createTestCounts } from '../adapters/dynamodb/intake/request-counts.ts';
import { createDryRunStore } from '../adapters/dynamodb/newsletter/email-store.ts';
import { createCandidateReader } from '../adapters/nql/candidate-reader.ts';
import { createPartSegments, createRenderings } from '../adapters/post/post-renderer.ts';
import { createBulkProvider } from '../adapters/ses-v2/bulk-provider.ts';
import { createSenderFault } from '../adapters/ses-v2/sender-identity.ts';
import { Problem } from '../core/model/problem.ts';
import { requestDryRun } from '../core/newsletter/lifecycle/dry-run.ts';
import { newEmail, type Publication, publishEmail, replaceEmail } from '../core/newsletter/lifecycle/publish.ts';
import type { Email, EmailContent } from '../core/newsletter/model/email.ts';
import { createLateExclusions } from '../core/newsletter/sending/exclusion-checks.ts';
import { createSendPacing } from '../core/newsletter/sending/send-pacing.ts';
import { sendTestMail } from '../core/newsletter/sending/test-mail.ts';
import { policyIn } from '../core/pacing/account.ts';
import { Pacer } from '../core/pacing/pacer.ts';
import { check } from '../http/check.ts';
import type { Decision } from './audit.ts';
import type { OperatorDeps } from './deps.ts';
import { emailAccess, requireEmail } from './emails.ts';
import { memberAccess } from './members/members.ts';

/** What it takes to write an email: to see what it would do, to test it, to publish and to replace it. */
export function draftAccess(deps: OperatorDeps) {
  const { deployment, dynamodb, local, clock } = deps;
  const { clients, tables, newsletter_configuration_set: configurationSet } = deployment;
  const { members, sealing, hashKey } = memberAccess(deps);
  const access = emailAccess(deps);
  // A local runtime without an SES takes any sender, and sends nothing.
  const ses = local && clients.ses === undefined ? undefined : new SESv2Client({ ...clients.ses, maxAttempts: 1 });
  const pause = (ms: number) => setTimeout<void>(ms);
  // Commands and the console send a few mails, by the rates that the deployment's functions noted in the budget.
  let known: Promise<Pacer> | undefined;
  const pacer = () => {
    known ??= access.budgets.read('email').then((registers) => {
      const policy = policyIn(registers);
      return new Pacer({ store: access.budgets, channel: 'email', policy, clock, random: Math.random, workers: 1 });
    });
    return known;
  };
  const budget: Pick<Pacer, 'reserve' | 'exceeded'> = {
    reserve: async (asks) => (await pacer()).reserve(asks),
    exceeded: async (limit) => (await pacer()).exceeded(limit),
  };
  return {
    ...access,
    hashKey,
    candidates: createCandidateReader(members, sealing),
    parts: createPartSegments(),
    renderings: createRenderings(),
    exclusions: createLateExclusions(members, sealing),
    dry_runs: createDryRunStore(dynamodb, tables.emails, clock),
    pacing: createSendPacing(budget, { clock, pause }),
    pause,
    countTests: createTestCounts(dynamodb, tables.pipeline_state),
    senderFault: ses === undefined ? async () => undefined : createSenderFault(ses),
    /** @throws Problem */
    provider: {
      send: async (call: Parameters<ReturnType<typeof createBulkProvider>['send']>[0]) => {
        if (ses === undefined || configurationSet === undefined) {
          const why = 'This deployment does not say by which configuration set it sends newsletters: deploy it anew.';
          throw new Problem('conflict', why);
        }
        return createBulkProvider({ client: ses, configurationSet }).send(call);
      },
    },
  };
}

export type DraftAccess = ReturnType<typeof draftAccess>;

interface Draft {
  readonly tenant_id: string;
  readonly request: EmailRequest;
  /** The id that the email would have, or what makes it. */
  readonly email_id: string | ((ids: Identities, request_hash: string) => string);
}

/** A draft as it would be published. @throws Problem that names all that is wrong */
export async function publicationOf({ tenant_id, request, email_id }: Draft, access: DraftAccess) {
  const ids = createIdentities(await access.hashKey());
  const request_hash = ids.requestHash(request);
  const id = typeof email_id === 'string' ? email_id : email_id(ids, request_hash);
  return toPublication(request, { tenant_id, email_id: id, request_hash }, access);
}

/** A draft of the page. A request that is repeated means the same email. @throws Problem */
export function draftOfPage(tenant_id: string, request_id: string, request: object): Draft {
  const email_id = ({ emailIdOf }: Identities) => emailIdOf(tenant_id, `console ${request_id}`);
  return { tenant_id, request: check(replaceSchema, request), email_id };
}

export async function dryRunOf(draft: Draft, access: DraftAccess) {
  const { publication } = await publicationOf(draft, access);
  return requestDryRun(publication, access);
}

/** @throws Problem not-found; a dry run is kept for a day if it had many members */
export async function keptDryRun(email_id: string, { dry_runs }: DraftAccess) {
  const run = /^[\w-]{1,50}$/.test(email_id) ? await dry_runs.read(email_id) : undefined;
  if (run !== undefined) return run;
  throw new Problem('not-found', 'There is no such dry run: it is kept for a day, if it had many members.');
}

export function publish(
  { publication, repeat }: { readonly publication: Publication; readonly repeat: boolean },
  access: DraftAccess,
): Decision<Email> {
  const { email_id, tenant_id: tenant, content } = publication;
  const details = { tenant, newsletter: content.newsletter.newsletter_id };
  return {
    audit: { what: 'email.send', on: [email_id], details },
    run: async () => ({
      answer: await publishEmail(publication, access),
      result: { [repeat ? 'repeated' : 'published']: 1 },
    }),
  };
}

/** A stored email, as it may be tested or written anew. @throws Problem not-found */
export async function storedEmail(id: string, access: DraftAccess) {
  const email = await requireEmail(id, access);
  const content = await access.emails.content(email.email_id);
  if (content === undefined) throw new Problem('not-found', `The email ${id} has no content any more.`);
  return { email, content };
}

/** What of a draft is tested. */
export async function draftEmail(draft: Draft, access: DraftAccess) {
  const { publication } = await publicationOf(draft, access);
  return { email: newEmail(publication, access), content: publication.content };
}

/** @throws Problem */
export function sendTest(
  tested: { readonly email: Email; readonly content: EmailContent; readonly to: readonly string[] },
  access: DraftAccess,
): Decision<Awaited<ReturnType<typeof sendTestMail>>> {
  check(testSchema, { to: tested.to });
  return {
    audit: { what: 'email.test', on: [tested.email.email_id] },
    async run() {
      const results = await sendTestMail(tested, access);
      return { answer: results, result: { sent: results.filter(({ accepted }) => accepted).length } };
    },
  };
}

/** Replaces an email that has not started; `known_at` as `replaceEmail` takes it. @throws Problem */
export async function replaceBy(
  email: Email,
  asked: object,
  access: DraftAccess,
  known_at?: string,
): Promise<Decision<Email>> {
  const { email_id, tenant_id } = email;
  const request = check(replaceSchema, asked);
  // An id that no email has: the time must be to come, whatever the email had before.
  const { publication } = await publicationOf({ tenant_id, request, email_id: `${email_id}-next` }, access);
  const details = { tenant: tenant_id, request: publication.request_hash };
  return {
    audit: { what: 'email.replace', on: [email_id], details },
    run: async () => ({
      answer: await replaceEmail(email, publication, access, known_at),
      result: { replaced: 1 },
    }),
  };
}
