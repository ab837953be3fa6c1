import { epochMs, isoAfter } from '../../model/time.ts';
import { acceptUncertain } from '../accounting/chunk-changes.ts';
import { countChunks } from '../accounting/counts.ts';
import type { ChunkState } from '../model/chunk.ts';
import { hasBit } from '../model/delivery-bits.ts';
import { pauseAfter } from '../model/job-limits.ts';
import { RECIPIENT_STATES } from '../model/recipient-state.ts';
import type { BatchWork } from './batch-work.ts';
import type { Stop } from './stop.ts';

/**
 * Ends the batch if nothing is left to send: submitted, whatever became of single recipients. Otherwise says when to go
 * on. The chunks are read again, as others may have changed them.
 */
export async function finishBatch(work: BatchWork): Promise<Stop | undefined> {
  for (;;) {
    await work.reload();
    await acceptFromEvents(work);
    const until = whenToGoOn(work);
    if (until !== undefined) return { kind: 'wait', until, everyone: false };
    const done = await work.trySave({
      set: { status: 'submitted', provider_failures: 0 },
      remove: ['claim_id', 'claim_until', 'not_before', 'error_status_code', 'error_message', 'error_data'],
    });
    if (done) return undefined;
  }
}

function whenToGoOn({ states, deps }: BatchWork): string | undefined {
  if (countChunks(states).counts.pending === 0) return undefined;
  const now = deps.clock();
  const times = states.flatMap((state) => timesOf(state, now, deps.limits.provider));
  return times.sort()[0];
}

/** For each recipient that is not at its end, when it may be sent. */
function timesOf({ states, tries, call }: ChunkState, now: Date, limits: BatchWork['deps']['limits']['provider']) {
  return [...states].flatMap((code, n) => {
    if (code === RECIPIENT_STATES.claimed) return [call?.until ?? now.toISOString()];
    if (code !== RECIPIENT_STATES.pending) return [];
    const made = tries[n] ?? 0;
    return [made === 0 ? now.toISOString() : isoAfter(now, pauseAfter(made, limits))];
  });
}

/**
 * Events may have shown that the provider accepted an uncertain recipient. They write their bits first and look at the
 * states then; here the states come first, so one of both sees the other.
 */
async function acceptFromEvents(work: BatchWork): Promise<void> {
  const { email_id, batch_id } = work.batch;
  const { events, chunks, limits } = work.deps;
  const uncertain = work.states.filter(({ states }) => states.includes(RECIPIENT_STATES.uncertain));
  if (uncertain.length === 0) return;
  const { bits } = await work.storage('read the events of a batch', () => events.read(email_id, batch_id));
  for (const state of uncertain) {
    const next = acceptUncertain(state, (n) => hasBit(bits.accepted, state.chunk * limits.chunk_size + n));
    if (next === undefined) continue;
    const changed = await work.storage('accept what events show', () => chunks.change(state, next));
    if (changed !== undefined) work.keep(changed);
    else await work.reloadState(state);
  }
}

/** Milliseconds until a time; 0 when it has passed. */
export function msUntil(iso: string, now: Date): number {
  return Math.max(0, epochMs(iso) - now.getTime());
}
