import type { Clock } from '../../model/time.ts';
import type { EmailStore } from '../model/ports.ts';
import type { CandidateReader } from '../preparation/ports.ts';

/** Counts the members of an email before it is prepared, in a pass of its own that its publication does not wait for. */
export async function countEmail(
  email_id: string,
  {
    emails,
    candidates,
    clock,
  }: {
    readonly emails: Pick<EmailStore, 'read' | 'change'>;
    readonly candidates: CandidateReader;
    readonly clock: Clock;
  },
): Promise<number | undefined> {
  const counted = await emails.read(email_id);
  if (counted === undefined || counted.email_count !== undefined || counted.status === 'cancelled') return undefined;
  const counted_at = clock().toISOString();
  const email_count = await candidates.count(counted);
  for (;;) {
    const email = await emails.read(email_id);
    // The preparation was faster; its number is exact.
    if (email === undefined || email.email_count !== undefined) return undefined;
    if ((await emails.change(email, { set: { email_count, counted_at } })) !== undefined) return email_count;
  }
}
