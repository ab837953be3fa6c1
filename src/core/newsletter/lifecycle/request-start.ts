import { Problem } from '../../model/problem.ts';
import { type OperateDeps, retryEmail } from './operate.ts';

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
