import type { EmailStore } from '../model/ports.ts';
import type { CandidateReader } from '../preparation/ports.ts';

/** Counts the members of an email before it is prepared, in a pass of its own that its publication does not wait for. */
export async function countEmail(
  email_id: string,
  {
    emails,
    candidates,
  }: { readonly emails: Pick<EmailStore, 'read' | 'change'>; readonly candidates: CandidateReader },
): Promise<number | undefined> {
  const counted = await emails.read(email_id);
  if (counted === undefined || counted.email_count !== undefined || counted.status === 'cancelled') return undefined;
  const email_count = await candidates.count(counted);
  for (;;) {
    const email = await emails.read(email_id);
    // The preparation was faster; its number is exact.
    if (email === undefined || email.email_count !== undefined) return undefined;
    if ((await emails.change(email, { set: { email_count } })) !== undefined) return email_count;
  }
}
