import { isoAfter } from '../../model/time.ts';
import { type AdvanceDeps, advance } from './advance.ts';
import { withNextAt } from './next-at.ts';

/**
 * Lets the sending of an email go on after one of its batches has something to send again: a refusal that was recorded
 * late, or an operator who resends. The row is changed in any case, so that an end that was decided before the change of
 * the batch does not happen. A failed email waits for `retry`.
 */
export async function reopen(email_id: string, deps: AdvanceDeps): Promise<void> {
  if (await markOpen(email_id, deps, 0)) await advance(email_id, deps);
}

/** @param wait_ms until the clock looks at the email */
export async function markOpen(
  email_id: string,
  { emails, clock }: Pick<AdvanceDeps, 'emails' | 'clock'>,
  wait_ms: number,
): Promise<boolean> {
  for (;;) {
    const email = await emails.read(email_id);
    if (email === undefined || (email.status !== 'submitting' && email.status !== 'submitted')) return false;
    const change = withNextAt({ status: 'submitting' }, isoAfter(clock(), wait_ms));
    if ((await emails.change(email, change)) !== undefined) return true;
  }
}
