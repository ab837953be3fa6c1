import { countsOf, sentBatches } from '../accounting/counts.ts';
import type { Batch } from '../model/batch.ts';
import { BULK_EMAIL_SEND_FAILED, type Email } from '../model/email.ts';
import type { Change } from '../model/ports.ts';
import { withNextAt } from './next-at.ts';

/**
 * The end of a sending: submitted when nothing is left that `retry` would send, whatever became of single recipients.
 * Otherwise failed, and the failed batches can be sent again (障害時対応).
 */
export function endOf(email: Email, batches: readonly Batch[], now: Date): Change<Email> {
  const failed = sentBatches(batches).filter(({ status }) => status === 'failed');
  const over = ['claim_id', 'claim_until', 'next_batch', 'next_batch_at', 'silence', 'hung_at'] as const;
  const counts = countsOf(email, batches);
  const ended = { paused: false, slots: {}, ...(counts.failed > 0 && { failed_recipients: counts.failed }) } as const;
  if (failed.length === 0) {
    const set = { ...ended, status: 'submitted', submitted_at: email.submitted_at ?? now.toISOString() } as const;
    return withNextAt(set, undefined, [...over, 'error', 'error_code']);
  }
  const { recipients, submitted, uncertain, pending } = counts;
  const cause = failed[0]?.error_message ?? 'The provider refused it.';
  // Mails of calls that were not answered may have been sent.
  const extent = submitted + uncertain > 0 ? 'The email was partially sent' : 'The email was not sent';
  const error =
    `${extent}: ${pending} of ${recipients} recipients in ${failed.length} ${failed.length === 1 ? 'batch' : 'batches'} ` +
    `were not sent. ${cause} Mend the cause, then retry the email: only what is missing is sent.`;
  return withNextAt({ ...ended, status: 'failed', error, error_code: BULK_EMAIL_SEND_FAILED }, undefined, over);
}
