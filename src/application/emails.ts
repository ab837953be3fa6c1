import { createBatchStore, createEventStore } from '../adapters/dynamodb/newsletter/batch-store.ts';
import { createChunkStore } from '../adapters/dynamodb/newsletter/chunk-store.ts';
import { createEmailStore } from '../adapters/dynamodb/newsletter/email-store.ts';
import { createNewsletterStore } from '../adapters/dynamodb/newsletter/newsletter-store.ts';
import { createPacingStore } from '../adapters/dynamodb/pacing/pacing-store.ts';
import { createNewsletterQueues } from '../adapters/sqs/newsletter-queues.ts';
import { Problem } from '../core/model/problem.ts';
import { cancelEmail, pauseEmail, resumeEmail, retryEmail } from '../core/newsletter/lifecycle/operate.ts';
import { type Resolved, resolveEmail } from '../core/newsletter/lifecycle/resolve.ts';
import type { Email } from '../core/newsletter/model/email.ts';
import type { Resolution } from '../core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS } from '../core/newsletter/model/job-limits.ts';
import type { ShownState } from '../core/newsletter/model/recipient-state.ts';
import {
  type EmailPhase,
  emailSummary,
  emailView,
  type ListedEmail,
  ratesOf,
  shownResolved,
} from '../core/newsletter/views/email-view.ts';
import { listRecipients, type RecipientPlace, type RecipientView } from '../core/newsletter/views/list-recipients.ts';
import { budgetStatus } from '../core/pacing/budget-status.ts';
import type { Decision } from './audit.ts';
import { type EmailAction, shellCommand } from './contract/choices.ts';
import type { EmailDetail } from './contract/newsletters.ts';
import type { OperatorBinding } from './deps.ts';

export type EmailAccessDeps = Pick<OperatorBinding, 'deployment' | 'dynamodb' | 'sqs' | 'clock' | 'newId'> &
  Partial<Pick<OperatorBinding, 'local'>>;

/** What commands need that work on emails: the use cases of the API, on the deployment's tables and queues. */
export function emailAccess({ deployment, dynamodb, sqs, clock, newId, local = false }: EmailAccessDeps) {
  const { tables, newsletter_queues, uncertain_minutes, batch_concurrency } = deployment;
  const sealer = deployment.sealer(dynamodb);
  return {
    emails: createEmailStore(dynamodb, tables.emails, clock),
    batches: createBatchStore(dynamodb, tables.email_batches, clock),
    chunks: createChunkStore(dynamodb, { table: tables.email_recipients, sealer, clock }),
    events: createEventStore(dynamodb, tables.email_batches, clock),
    newsletters: createNewsletterStore(dynamodb, tables.newsletters),
    budgets: createPacingStore(dynamodb, tables.pipeline_state),
    queues: createNewsletterQueues(sqs, newsletter_queues),
    // The clock of the deployment starts a scheduled email within a minute; operators need no right to make schedules.
    schedules: { create: async () => {}, remove: async () => {} },
    clock,
    newId,
    local,
    limits: {
      ...DEFAULT_JOB_LIMITS,
      ...(batch_concurrency !== undefined && { concurrency: batch_concurrency }),
      ...(uncertain_minutes !== undefined && { uncertain_ms: 60_000 * uncertain_minutes }),
    },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  };
}

export type EmailAccess = ReturnType<typeof emailAccess>;

/** @throws Problem not-found */
export async function requireEmail(
  email_id: string,
  { emails, local }: Pick<EmailAccess, 'emails' | 'local'>,
): Promise<Email> {
  const email = /^[\w-]{1,50}$/.test(email_id) ? await emails.read(email_id) : undefined;
  if (email !== undefined) return email;
  throw new Problem(
    'not-found',
    `There is no email ${email_id}: see \`${shellCommand('emails list --tenant ID', local)}\`.`,
  );
}

/** An email as it stands now. @throws Problem not-found */
export async function showEmail(email_id: string, access: EmailAccess) {
  const email = await requireEmail(email_id, access);
  const [batches, events, registers] = await Promise.all([
    // None counts before all are prepared; a refused preparation leaves as many as it made.
    email.prepared === undefined ? [] : access.batches.list(email_id),
    access.events.list(email_id),
    access.budgets.read('email'),
  ]);
  const now = access.clock();
  const isKnown = Object.keys(registers).length > 0;
  const allowed = isKnown ? budgetStatus('email', registers, now).per_second : null;
  return { email, view: emailView({ email, batches, events }, now, allowed ?? undefined) };
}

/** The same for the page, with what may be done about it. */
export async function emailForPage(email_id: string, access: EmailAccess, local: boolean): Promise<EmailDetail> {
  const { email, view } = await showEmail(email_id, access);
  const content = await access.emails.content(email_id);
  const actions = actionsIn(view.phase);
  const command = (what: string) => shellCommand(`emails ${what}`, local, [], [email_id]);
  return {
    tenant_id: email.tenant_id,
    subject: content?.subject ?? null,
    email: view,
    actions,
    commands: [
      { label: 'Follow', command: `${command('status')} --watch` },
      { label: 'Recipients', command: command('recipients') },
      ...actions.map((action) => ({ label: action, command: command(action) })),
    ],
  };
}

/** Recipients up to which a list has an email's rates: they cost a read of each of its batches. */
const MOST_RATED = 20_000;

/** A tenant's emails, newest first, with what became of their mails. */
export async function listEmails(tenant: string, after: string | undefined, access: EmailAccess) {
  const page = await access.emails.list(tenant, after);
  const now = access.clock();
  const rated = async (email: Email): Promise<ListedEmail> => {
    const { email_id, prepared } = email;
    if (prepared === undefined || prepared.recipients > MOST_RATED) return emailSummary(email, now);
    const [batches, events] = await Promise.all([access.batches.list(email_id), access.events.list(email_id)]);
    return { ...emailSummary(email, now), ...ratesOf(emailView({ email, batches, events }, now, undefined)) };
  };
  return { emails: await Promise.all(page.emails.map(rated)), next: page.next_cursor };
}

const ACTIONS = { retry: retryEmail, pause: pauseEmail, resume: resumeEmail, cancel: cancelEmail } as const;

/** @throws Problem not-found, or conflict where the email's state does not allow it */
export async function decideEmail(
  email_id: string,
  action: EmailAction,
  access: EmailAccess,
): Promise<Decision<Pick<Email, 'email_id' | 'status' | 'paused'>>> {
  await requireEmail(email_id, access);
  return {
    audit: { what: `email.${action}`, on: [email_id] },
    async run() {
      const { status, paused } = await ACTIONS[action](email_id, access);
      return { answer: { email_id, status, paused }, result: { accepted: 1 } };
    },
  };
}

/** Decides about the recipients of whom nobody knows whether they got the mail. @throws Problem */
export async function resolveUncertain(
  email_id: string,
  action: Resolution,
  access: EmailAccess,
): Promise<Decision<Omit<Resolved, 'email'> & Pick<Email, 'email_id' | 'status'>>> {
  await requireEmail(email_id, access);
  return {
    audit: { what: `email.resolve.${action}`, on: [email_id] },
    async run() {
      const { email, ...reached } = await resolveEmail(email_id, action, access);
      const { continued: _, waiting_until: __, ...result } = shownResolved(reached);
      return { answer: { email_id, status: email.status, ...reached }, result };
    },
  };
}

/** What the use cases accept in a phase; they refuse the rest themselves. */
function actionsIn(phase: EmailPhase): EmailAction[] {
  switch (phase) {
    case 'scheduled':
    case 'queued':
    case 'preparing':
    case 'sending':
    case 'waiting':
      return ['pause', 'cancel'];
    case 'paused':
      return ['resume', 'cancel'];
    case 'failed':
      return ['retry'];
    default:
      return [];
  }
}

interface RecipientsWanted {
  readonly state?: ShownState;
  readonly limit: number;
  readonly addresses: boolean;
}

const PAGE = 500;

/** The recipients of an email. The audit log keeps who was shown addresses. @throws Problem not-found */
export async function recipientsOf(
  id: string,
  { state, limit, addresses: identities }: RecipientsWanted,
  access: EmailAccess,
): Promise<Decision<readonly RecipientView[]>> {
  const email = await requireEmail(id, access);
  async function run() {
    const found: RecipientView[] = [];
    let from: RecipientPlace | undefined;
    do {
      const request = { email, limit: Math.min(limit, PAGE), identities };
      const page = await listRecipients({ ...request, ...(state && { state }), ...(from && { from }) }, access);
      found.push(...page.recipients);
      from = page.next && { batch_id: page.next.batch_id, chunk: page.next.chunk };
    } while (from !== undefined && found.length < limit);
    const answer = found.slice(0, limit);
    return { answer, result: { shown: answer.length } };
  }
  return { audit: identities ? { what: 'email.recipients', on: [email.email_id], shows: true } : undefined, run };
}
