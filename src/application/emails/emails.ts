import { Problem } from '../../core/model/problem.ts';
import {
  cancelEmail,
  type OperateDeps,
  pauseEmail,
  resumeEmail,
  retryEmail,
} from '../../core/newsletter/lifecycle/operate.ts';
import { type ResolveDeps, type Resolved, resolveEmail } from '../../core/newsletter/lifecycle/resolve.ts';
import type { ShownState } from '../../core/newsletter/model/batch.ts';
import type { Email } from '../../core/newsletter/model/email.ts';
import type { Resolution } from '../../core/newsletter/model/email-message.ts';
import type { EmailStore, EventStore } from '../../core/newsletter/model/ports.ts';
import {
  type EmailPhase,
  emailSummary,
  emailView,
  type ListedEmail,
  ratesOf,
  shownResolved,
} from '../../core/newsletter/views/email-view.ts';
import {
  listRecipients,
  type RecipientsDeps,
  type RecipientView,
} from '../../core/newsletter/views/list-recipients.ts';
import { type Decision, decisionOf } from '../../core/operator/audit.ts';
import { budgetStatus } from '../../core/pacing/budget-status.ts';
import type { PacingStore } from '../../core/pacing/registers.ts';
import { type EmailAction, shellCommand } from '../contract/choices.ts';
import type { EmailDetail } from '../contract/newsletters.ts';
import { emailPlace, fromCursor, recipientCursor, recipientPlace, toCursor } from '../cursor.ts';

/** Who asks: a tenant, for its own emails alone, or an operator of the stage. */
type Asker = { readonly tenant_id: string } | { readonly local: boolean };

/** The dependencies of the use cases of emails. */
export interface EmailDeps extends OperateDeps {
  readonly emails: EmailStore;
  readonly batches: OperateDeps['batches'] & RecipientsDeps['batches'];
  readonly chunks: ResolveDeps['chunks'] & RecipientsDeps['chunks'];
  readonly events: Pick<EventStore, 'read' | 'list'>;
  readonly budgets: Pick<PacingStore, 'read'>;
}

export type EmailAccess = EmailDeps & Asker;

/** What cannot be an id is answered like an unknown one. */
export const isEmailId = (text: string): boolean => /^[\w-]{1,50}$/.test(text);
export const isOf = (asker: Asker, tenant_id: string): boolean =>
  !('tenant_id' in asker) || asker.tenant_id === tenant_id;

/** @throws Problem not-found, also for an email of another tenant */
export async function requireEmail(
  email_id: string,
  access: { readonly emails: Pick<EmailStore, 'read'> } & Asker,
): Promise<Email> {
  const email = isEmailId(email_id) ? await access.emails.read(email_id) : undefined;
  if (email !== undefined && isOf(access, email.tenant_id)) return email;
  throw new Problem(
    'not-found',
    'tenant_id' in access
      ? 'There is no email with this id: see GET /v1/emails.'
      : `There is no email ${email_id}: see \`${shellCommand('emails list --tenant ID', access.local)}\`.`,
  );
}

/** An email as it stands now. @throws Problem not-found */
export async function showEmail(email_id: string, access: EmailAccess) {
  // The row is read before the batches: batches that are prepared in between are left out, so that the counts add up.
  const email = await requireEmail(email_id, access);
  const [batches, events, registers] = await Promise.all([
    // Batches count once all are prepared: a preparation that was refused leaves those that it had made.
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
export async function emailForPage(
  email_id: string,
  access: EmailAccess & { readonly local: boolean },
): Promise<EmailDetail> {
  const { email, view } = await showEmail(email_id, access);
  const content = await access.emails.content(email_id);
  const actions = actionsIn(view.phase);
  const command = (what: string) => shellCommand(`emails ${what}`, access.local, [], [email_id]);
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

type Listing = Pick<EmailDeps, 'emails' | 'batches' | 'events' | 'clock'>;

/** A page of a tenant's emails, newest first. @param rates whether with what became of their mails */
export async function listEmails(
  { tenant, cursor }: { readonly tenant: string; readonly cursor?: string | undefined },
  { emails, batches, events, clock }: Listing,
  { rates }: { readonly rates: boolean },
) {
  const page = await emails.list(tenant, fromCursor(emailPlace, cursor));
  const now = clock();
  const listed = async (email: Email): Promise<ListedEmail> => {
    const { email_id, prepared, status } = email;
    // During a mailing, or after an early end, rates of the mails sent so far would be taken for those of all.
    const isRated = rates && status === 'submitted' && prepared !== undefined && prepared.recipients <= MOST_RATED;
    if (!isRated) return emailSummary(email, now);
    const [found, told] = await Promise.all([batches.list(email_id), events.list(email_id)]);
    return {
      ...emailSummary(email, now),
      ...ratesOf(emailView({ email, batches: found, events: told }, now, undefined)),
    };
  };
  return { emails: await Promise.all(page.emails.map(listed)), next_cursor: toCursor(page.next_cursor) };
}

const ACTIONS = { retry: retryEmail, pause: pauseEmail, resume: resumeEmail, cancel: cancelEmail } as const;

/** @throws Problem not-found, or conflict where the email's state does not allow it */
export async function decideEmail(
  email_id: string,
  action: EmailAction,
  access: EmailAccess,
): Promise<Decision<Pick<Email, 'email_id' | 'status' | 'paused'>>> {
  await requireEmail(email_id, access);
  return decisionOf({ what: `email.${action}`, on: [email_id] }, async () => {
    const { status, paused } = await ACTIONS[action](email_id, access);
    return { answer: { email_id, status, paused }, result: { accepted: 1 } };
  });
}

/** Decides what becomes of uncertain recipients: nobody knows whether they got the mail. @throws Problem */
export async function resolveUncertain(
  email_id: string,
  action: Resolution,
  access: EmailAccess,
): Promise<Decision<Omit<Resolved, 'email'> & Pick<Email, 'email_id' | 'status'>>> {
  await requireEmail(email_id, access);
  return decisionOf({ what: `email.resolve.${action}`, on: [email_id] }, async () => {
    const { email, ...reached } = await resolveEmail(email_id, action, access);
    const { continued: _, waiting_until: __, ...result } = shownResolved(reached);
    return { answer: { email_id, status: email.status, ...reached }, result };
  });
}

/** The actions that the use cases accept in each phase, for display: the use cases themselves refuse the others. */
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
  readonly state?: ShownState | undefined;
  readonly limit: number;
  /** Whether with addresses and names. */
  readonly identities: boolean;
}

/** A page of the recipients of an email. @throws Problem not-found */
export async function pageOfRecipients(
  email_id: string,
  { cursor, state, ...wanted }: RecipientsWanted & { readonly cursor?: string | null | undefined },
  access: EmailAccess,
) {
  const from = fromCursor(recipientPlace, cursor ?? undefined);
  const email = await requireEmail(email_id, access);
  const request = { email, ...wanted, ...(state && { state }), ...(from && { from }) };
  const { recipients, next } = await listRecipients(request, access);
  return { recipients, next_cursor: recipientCursor(next) };
}

const PAGE = 500;

/** The recipients of an email. The audit log keeps who was shown addresses. @throws Problem not-found */
export async function recipientsOf(
  id: string,
  wanted: RecipientsWanted,
  access: EmailAccess,
): Promise<Decision<readonly RecipientView[]>> {
  const { limit, identities } = wanted;
  const { email_id } = await requireEmail(id, access);
  return decisionOf(identities ? { what: 'email.recipients', on: [email_id], shows: true } : undefined, async () => {
    const found: RecipientView[] = [];
    let cursor: string | null = null;
    do {
      const page = await pageOfRecipients(email_id, { ...wanted, limit: Math.min(limit, PAGE), cursor }, access);
      found.push(...page.recipients);
      cursor = page.next_cursor;
    } while (cursor !== null && found.length < limit);
    const answer = found.slice(0, limit);
    return { answer, result: { shown: answer.length } };
  });
}
