import { changeUntil } from '../../model/changes.ts';
import { defined } from '../../model/collections.ts';
import { Problem } from '../../model/problem.ts';
import { clip } from '../../model/text.ts';
import { type Clock, expiresAt, isoAfter } from '../../model/time.ts';
import type { Email, EmailContent } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import { mergeFieldRefusal } from '../model/merge-fields.ts';
import type { EmailStore, NewsletterQueues, Schedules } from '../model/ports.ts';
import { withNextAt } from './plan-slots.ts';

/** A validated request: the newsletter exists, the segment parses, the sender is verified. */
export interface Publication {
  /** Deterministic from tenant and Idempotency-Key. */
  readonly email_id: string;
  readonly request_hash: string;
  readonly tenant_id: string;
  readonly content: EmailContent;
  readonly segment?: string;
  readonly scheduled_at?: string;
  readonly delivery_window_minutes?: number;
}

export interface PublishDeps {
  readonly emails: Pick<EmailStore, 'create'>;
  readonly queues: NewsletterQueues;
  readonly schedules: Schedules;
  readonly clock: Clock;
  readonly limits: JobLimits;
}

/** Characters of the subject on the row, which stays below a write unit. */
const SUBJECT = 80;

/** Stores an email and has it started. A request that comes again finds the email that it made. @throws Problem */
export async function publishEmail(publication: Publication, deps: PublishDeps): Promise<Email> {
  const { email_id, request_hash, content, scheduled_at } = publication;
  refuseUnknownFields(content);
  const row = newEmail(publication, deps);
  const stored = await deps.emails.create(row, content);
  if (stored.request_hash !== request_hash) {
    throw new Problem(
      'idempotency-key-reused',
      'This Idempotency-Key was used for another email. Use a new key for each email.',
    );
  }
  if (stored.status !== 'pending') return stored;
  // A repeated request may have been the one that died here.
  await haveStarted(email_id, scheduled_at, deps);
  return stored;
}

async function haveStarted(
  email_id: string,
  scheduled_at: string | undefined,
  { queues, schedules, clock }: Omit<PublishDeps, 'emails'>,
): Promise<void> {
  await queues.prepare({ version: 1, kind: 'count', email_id });
  if (scheduled_at === undefined || scheduled_at <= clock().toISOString()) {
    await queues.prepare({ version: 1, kind: 'start', email_id });
  } else await schedules.create(email_id, scheduled_at);
}

/** Nobody gets a literal `{nmae}`. @throws Problem */
function refuseUnknownFields(content: EmailContent): void {
  const refusal = mergeFieldRefusal(content);
  if (refusal !== undefined) throw new Problem('invalid-request', refusal.message, { errors: refusal.errors });
}

export interface ReplaceDeps extends Omit<PublishDeps, 'emails'> {
  readonly emails: Pick<EmailStore, 'read' | 'replace'>;
}

/**
 * Replaces an email that has not started: row and content change together, so that a start has the one or the other. It
 * keeps its id, and whether it is paused.
 * @param known_at when the one was written that somebody looked at; undefined replaces any
 * @throws Problem
 */
export async function replaceEmail(
  email: Email,
  publication: Publication,
  deps: ReplaceDeps,
  known_at?: string,
): Promise<Email> {
  const { content, scheduled_at } = publication;
  const { email_id } = email;
  refuseUnknownFields(content);
  const replacement = (found: Email) => {
    const { status, submitting_at, created_at: made_at, replaced_at = made_at } = found;
    if (status !== 'pending' || submitting_at !== undefined) {
      const what = status === 'cancelled' ? 'was cancelled' : `has started: it is ${status}`;
      throw new Problem('conflict', `The email ${email_id} ${what}, and cannot be replaced. Publish another one.`);
    }
    if (known_at !== undefined && known_at !== replaced_at) {
      const what = `The email ${email_id} was replaced meanwhile, by somebody or by an earlier try`;
      throw new Problem('conflict', `${what}: look at it again, then edit it.`);
    }
    const next = newEmail(publication, deps);
    const { newsletter_id, subject, segment, delivery_window_minutes, next_at, created_at, expires_at } = next;
    const sent = { newsletter_id, subject, segment, scheduled_at, delivery_window_minutes };
    const set = { ...sent, replaced_at: created_at, expires_at };
    // The count was of other members.
    const remove = (['segment', 'scheduled_at', 'delivery_window_minutes'] as const).filter(
      (name) => set[name] === undefined,
    );
    return withNextAt(defined(set), next_at, [...remove, 'email_count', 'counted_at']);
  };
  const { changed } = await changeUntil(
    () => deps.emails.read(email_id),
    replacement,
    (found, change) => deps.emails.replace(found, change, content),
    { from: email },
  );
  if (changed === undefined) throw new Problem('not-found', `There is no email ${email_id}.`);
  // A schedule of the old time finds that the email is for later, or starts it at once where both are past.
  await deps.schedules.remove(email_id);
  await haveStarted(email_id, scheduled_at, deps);
  return changed;
}

/** The row of an email before anything is done for it. */
export function newEmail(publication: Publication, { clock, limits }: Pick<PublishDeps, 'clock' | 'limits'>): Email {
  const { content, scheduled_at, segment, delivery_window_minutes, ...ids } = publication;
  const now = clock();
  const at = now.toISOString();
  // The clock starts it where the message or the schedule got lost.
  const isLater = scheduled_at !== undefined && scheduled_at > at;
  const next_at = isLater ? scheduled_at : isoAfter(now, limits.first_message_ms);
  const row = defined({
    ...ids,
    newsletter_id: content.newsletter.newsletter_id,
    subject: clip(content.subject, SUBJECT),
    ...({ status: 'pending', paused: false, version: 1, slots: {} } as const),
    segment,
    scheduled_at,
    delivery_window_minutes,
    created_at: at,
    updated_at: at,
    expires_at: expiresAt(new Date(isLater ? scheduled_at : at)),
  });
  return { ...row, ...withNextAt({}, next_at).set };
}
