import { changeUntil, LEASE, Lease } from '../../model/changes.ts';
import type { Email } from '../model/email.ts';
import { storageOf } from '../model/job-limits.ts';
import type { BatchStore, EmailStore } from '../model/ports.ts';
import { LeaseLostError } from '../preparation/lease.ts';
import type { PrepareDeps } from '../preparation/ports.ts';
import { prepare } from '../preparation/prepare.ts';
import { type AdvanceDeps, advance } from './advance.ts';
import { lockEmail } from './lock.ts';
import { withNextAt } from './plan-slots.ts';

export interface StartDeps extends Omit<PrepareDeps, 'emails' | 'batches'>, Omit<AdvanceDeps, 'emails' | 'batches'> {
  readonly emails: Pick<EmailStore, 'read' | 'change' | 'content'>;
  readonly batches: Pick<BatchStore, 'read' | 'list' | 'from' | 'change' | 'put' | 'remove'>;
  readonly newId: () => string;
}

export interface StartReport {
  readonly result: 'started' | 'continued' | 'skipped' | 'failed';
  /** Why nothing was started, or what is wrong. */
  readonly reason?: string;
  /** What the count said, when the prepared number is off by 1 % or more. */
  readonly count_was?: number;
}

/**
 * The job of one email (batch-sending-service-job.md, emailJob): takes the lock, prepares the batches, or uses those
 * that are there, and lets the sending begin. A second start while the first one lives is skipped.
 */
export async function startEmail(email_id: string, deps: StartDeps): Promise<StartReport> {
  deps.log.info(`Starting email job for email ${email_id}`, { email_id });
  const storage = storageOf(deps);
  const email = await storage('read the email', () => deps.emails.read(email_id));
  if (email === undefined) return { result: 'skipped', reason: `There is no email ${email_id}.` };
  const reason = whySkipped(email, deps.clock().toISOString());
  if (reason !== undefined) {
    if (email.status === 'submitting' && email.prepared) await storage('advance', () => advance(email_id, deps));
    return { result: 'skipped', reason };
  }
  const claim_id = deps.newId();
  const locked = await storage('lock the email', () => lockEmail(email, claim_id, deps));
  if (locked === undefined) return { result: 'skipped', reason: 'Another start, or a change, was faster.' };
  if (locked.prepared !== undefined) {
    await storage('give the first batches', () => advance(email_id, deps));
    return { result: 'started' };
  }
  if (email.email_count !== undefined && locked.email_count === undefined) {
    await deps.queues.prepare({ version: 1, kind: 'count', email_id });
  }
  return prepareLocked(locked, deps);
}

function whySkipped(email: Email, now: string): string | undefined {
  const { status, paused, scheduled_at, claim_until, prepared } = email;
  switch (status) {
    case 'submitted':
      return 'The email is submitted already: it is never sent again.';
    case 'cancelled':
      return 'The email was cancelled. Publish it anew to send it.';
    case 'failed':
      // A message that comes twice, or late, must not send what an operator has not retried.
      return 'The email failed. Retry it: only what is missing is sent.';
    case 'submitting':
      if (prepared !== undefined) return 'The email is being sent already.';
      return (claim_until ?? '') > now ? 'The email is being prepared already.' : undefined;
    default:
      if (paused) return 'The email is paused. Resume it first.';
      if ((scheduled_at ?? '') > now) return `The email is scheduled for ${scheduled_at}.`;
      return undefined;
  }
}

async function prepareLocked(locked: Email, deps: StartDeps): Promise<StartReport> {
  const { email_id } = locked;
  try {
    const prepared = await prepare(locked, deps);
    switch (prepared.result) {
      case 'prepared':
        if (prepared.count_was !== undefined) deps.log.count?.('count_off');
        await advance(email_id, deps);
        return { result: 'started', ...(prepared.count_was !== undefined && { count_was: prepared.count_was }) };
      case 'continued':
        await deps.queues.prepare({ version: 1, kind: 'start', email_id });
        return { result: 'continued' };
      case 'refused': {
        await failRefused(prepared.email, prepared.error, deps);
        deps.log.count?.('failed');
        deps.log.error(`Email ${email_id} failed: ${prepared.error}`, { email_id });
        return { result: 'failed', reason: prepared.error };
      }
    }
  } catch (error) {
    if (error instanceof LeaseLostError) return { result: 'skipped', reason: 'Another invocation prepares the email.' };
    throw error;
  }
}

/** The count pass and operators change the row of an email that is prepared, too: its failure is written all the same. */
async function failRefused(email: Email, error: string, { emails, clock, limits }: StartDeps): Promise<void> {
  const set = { status: 'failed', error, paused: false } as const;
  const port = { read: () => emails.read(email.email_id), change: emails.change, clock, lease_ms: limits.lease_ms };
  await new Lease(email, port).change(withNextAt(set, undefined, ['preparation', ...LEASE]));
}

/**
 * Counts the members of an email before it is prepared, in a pass of its own that its publication does not wait for. It
 * decrypts nobody: the preparation's pass without its writes would take twenty times the CPU per member.
 */
export async function countEmail(
  email_id: string,
  {
    emails,
    candidates,
    clock,
  }: Pick<StartDeps, 'candidates' | 'clock'> & { readonly emails: Pick<EmailStore, 'read' | 'change'> },
): Promise<number | undefined> {
  const counted = await emails.read(email_id);
  if (counted === undefined || counted.email_count !== undefined || counted.status === 'cancelled') return undefined;
  const counted_at = clock().toISOString();
  const email_count = await candidates.count(counted);
  // Where the preparation was faster, its number is exact.
  const isOpen = (email: Email) => email.email_count === undefined && email.replaced_at === counted.replaced_at;
  const { changed } = await changeUntil(
    () => emails.read(email_id),
    (email) => (isOpen(email) ? { set: { email_count, counted_at } } : undefined),
    emails.change,
  );
  return changed && email_count;
}
