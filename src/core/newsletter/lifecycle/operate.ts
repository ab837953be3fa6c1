import { changeUntil, LEASE } from '../../model/changes.ts';
import { Problem } from '../../model/problem.ts';
import { expiresAt } from '../../model/time.ts';
import type { Email, EmailStatus } from '../model/email.ts';
import type { Change, Schedules } from '../model/ports.ts';
import { type AdvanceDeps, advance } from './advance.ts';
import { askNow } from './holds.ts';
import { type LockDeps, lockEmail } from './lock.ts';
import { withNextAt } from './plan-slots.ts';

export interface OperateDeps extends Omit<AdvanceDeps, 'batches'> {
  readonly batches: AdvanceDeps['batches'] & LockDeps['batches'];
  readonly schedules: Schedules;
  readonly newId: () => string;
}

/** Stops giving out batches; those in progress stop within seconds, between two calls. @throws Problem */
export async function pauseEmail(email_id: string, deps: OperateDeps): Promise<Email> {
  return change(email_id, deps, 'paused', ({ status, paused, cancelled_at }) =>
    cancelled_at === undefined && (status === 'pending' || status === 'submitting')
      ? paused
        ? 'done'
        : { set: { paused: true } }
      : undefined,
  );
}

/** Lets a paused email go on; it does nothing to one that is not paused. @throws Problem */
export async function resumeEmail(email_id: string, deps: OperateDeps): Promise<Email> {
  const email = await change(email_id, deps, 'resumed', (found) => {
    if (found.status !== 'pending' && found.status !== 'submitting') return undefined;
    const now = deps.clock().toISOString();
    const scheduled = found.status === 'pending' ? (found.scheduled_at ?? now) : now;
    if (!found.paused) return 'done';
    const at = scheduled > now ? scheduled : now;
    const expires_at = Math.max(found.expires_at, expiresAt(new Date(at)));
    return withNextAt({ paused: false, expires_at, ...askNow(found, now) }, at);
  });
  return (await advance(email_id, deps)) ?? email;
}

/**
 * Ends an email: nobody gets it from then on but by calls that are under way. Where recipients are frozen already, they
 * are excluded batch by batch, and the email is `cancelled` when all are. @throws Problem
 */
export async function cancelEmail(email_id: string, deps: OperateDeps): Promise<Email> {
  const email = await change(email_id, deps, 'cancelled', ({ status, prepared, cancelled_at }) => {
    if (status === 'cancelled' || cancelled_at !== undefined) return 'done';
    if (status === 'submitted') return undefined;
    const now = deps.clock().toISOString();
    const error = ['error', 'error_code'] as const;
    if (prepared !== undefined) {
      const set = { cancelled_at: now, paused: false, ...(status === 'failed' && { status: 'submitting' as const }) };
      return withNextAt(set, now, error);
    }
    // Without its claim a preparation writes nothing more.
    const set = { status: 'cancelled', cancelled_at: now, paused: false } as const;
    return withNextAt(set, undefined, [...LEASE, 'preparation', ...error]);
  });
  await deps.schedules.remove(email_id);
  return (await advance(email_id, deps)) ?? email;
}

/** Sends again what a failed email has not submitted (部分失敗時). @throws Problem */
export async function retryEmail(email_id: string, deps: OperateDeps): Promise<Email> {
  const email = await read(email_id, deps);
  if (email.status !== 'failed') throw wrongState(email, 'retried');
  if (email.prepared === undefined) {
    const now = deps.clock().toISOString();
    const changed = await deps.emails.change(email, withNextAt({ status: 'pending' }, now, ['error', 'error_code']));
    if (changed === undefined) throw changedMeanwhile(email_id);
  } else if ((await lockEmail(email, deps.newId(), deps)) === undefined) throw changedMeanwhile(email_id);
  return (await advance(email_id, deps)) ?? email;
}

type Decision = Change<Email> | 'done' | undefined;

async function change(
  email_id: string,
  deps: OperateDeps,
  verb: string,
  decide: (email: Email) => Decision,
): Promise<Email> {
  const decideOn = (email: Email) => {
    const decision = decide(email);
    if (decision === undefined) throw wrongState(email, verb);
    return decision === 'done' ? undefined : decision;
  };
  const { row, changed } = await changeUntil(() => read(email_id, deps), decideOn, deps.emails.change);
  return changed ?? row;
}

async function read(email_id: string, { emails }: OperateDeps): Promise<Email> {
  const email = await emails.read(email_id);
  if (email === undefined) throw new Problem('not-found', `There is no email ${email_id}.`);
  return email;
}

const WHAT_IS_RIGHT: Readonly<Record<EmailStatus, string>> = {
  pending: 'It can be paused, resumed or cancelled.',
  submitting: 'It can be paused, resumed or cancelled.',
  submitted: 'It is never sent again; only its uncertain recipients can be resolved.',
  failed: 'It can be retried: only what was not submitted is sent. Or it can be cancelled.',
  cancelled: 'Publish it anew to send it.',
};

function wrongState({ email_id, status, cancelled_at }: Email, verb: string): Problem {
  if (status === 'submitting' && cancelled_at !== undefined) {
    return new Problem('conflict', `The email ${email_id} is being cancelled, so it cannot be ${verb}.`);
  }
  return new Problem(
    'conflict',
    `The email ${email_id} is ${status}, so it cannot be ${verb}. ${WHAT_IS_RIGHT[status]}`,
  );
}

export function nobodyYet({ email_id, status }: Email): Problem {
  const what = `The email ${email_id} is ${status} and has no recipients yet, so none is uncertain.`;
  return new Problem('conflict', `${what} ${WHAT_IS_RIGHT[status]}`);
}

function changedMeanwhile(email_id: string): Problem {
  return new Problem('conflict', `The email ${email_id} was changed by another request. Read its status, then decide.`);
}

export type StartRequest =
  | { readonly result: 'started' }
  /** Why nothing is to be started (実行可否判定). */
  | { readonly result: 'skipped'; readonly reason: string };

/**
 * Asks for the job of an email: one that is pending is started, one that failed is retried, another one is skipped. The
 * function that prepares emails does the work, and takes the lock. @throws Problem not-found
 */
export async function requestStart(email_id: string, deps: OperateDeps): Promise<StartRequest> {
  const email = await deps.emails.read(email_id);
  if (email === undefined) throw new Problem('not-found', `There is no email ${email_id}.`);
  const { status, paused, scheduled_at } = email;
  if (status === 'failed') {
    await retryEmail(email_id, deps);
    return { result: 'started' };
  }
  if (status !== 'pending') return { result: 'skipped', reason: `The email is ${status} already.` };
  if (paused) return { result: 'skipped', reason: 'The email is paused. Resume it first.' };
  if ((scheduled_at ?? '') > deps.clock().toISOString()) {
    return { result: 'skipped', reason: `The email is scheduled for ${scheduled_at}.` };
  }
  await deps.queues.prepare({ version: 1, kind: 'start', email_id });
  return { result: 'started' };
}
