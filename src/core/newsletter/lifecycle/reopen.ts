import type { AdvanceDeps } from './advance.ts';
import { advance } from './advance.ts';
import { withNextAt } from './next-at.ts';

/**
 * Lets the sending of an email go on after one of its batches has something to send again: a refusal that was recorded
 * late, or an operator who resends. The row is changed in any case, so that an end that was decided before the change of
 * the batch does not happen. A failed email waits for `retry`.
 */
export async function reopen(email_id: string, deps: AdvanceDeps): Promise<void> {
  for (;;) {
    const email = await deps.emails.read(email_id);
    if (email === undefined || (email.status !== 'submitting' && email.status !== 'submitted')) return;
    const change = withNextAt({ status: 'submitting' }, deps.clock().toISOString());
    if ((await deps.emails.change(email, change)) !== undefined) break;
  }
  await advance(email_id, deps);
}
