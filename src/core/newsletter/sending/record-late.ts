import { changeState } from '../accounting/change-state.ts';
import { applyOutcome } from '../accounting/chunk-changes.ts';
import { refreshBatch } from '../accounting/refresh-batch.ts';
import { reopen } from '../lifecycle/reopen.ts';
import type { ResolveDeps } from '../lifecycle/resolve.ts';
import type { SendMessage } from '../model/email-message.ts';

export type RecordMessage = Extract<SendMessage, { kind: 'record' }>;

/**
 * Records an outcome that storage did not take when the call ended. It may come again, and after the recipients were
 * taken for uncertain. The counts are written in any case: an earlier try may have ended before them.
 */
export async function recordLate(
  { outcome, ...key }: RecordMessage,
  deps: Omit<ResolveDeps, 'events' | 'newId'>,
): Promise<void> {
  const { email_id, batch_id, chunk } = key;
  const state = await deps.chunks.readState({ email_id, batch_id, chunk });
  if (state === undefined) return;
  await changeState(state, (found) => applyOutcome(found, outcome), deps);
  const batch = await refreshBatch(email_id, batch_id, deps);
  if (batch !== undefined && batch.status === 'pending' && batch.counts.pending > 0) await reopen(email_id, deps);
}
