import { epochMs, isoAfter } from '../../model/time.ts';
import { acceptUncertain, placesOf } from '../accounting/chunk-changes.ts';
import type { ChunkState } from '../model/chunk.ts';
import { hasBit } from '../model/delivery-bits.ts';
import { pauseAfter } from '../model/job-limits.ts';
import { RECIPIENT_STATES } from '../model/recipient-state.ts';
import type { BatchWork } from './batch-work.ts';
import { isGivenUp } from './judge-answer.ts';
import type { Stop } from './stop.ts';

/**
 * Ends the batch if nothing is left to send: submitted, whatever became of single recipients. Failed, if somebody is left
 * whom only a retry sends. Otherwise says when to go on. The chunks are read again, as others may have changed them.
 */
export async function finishBatch(work: BatchWork): Promise<Stop | undefined> {
  for (;;) {
    await work.reload();
    await acceptFromEvents(work);
    const until = whenToGoOn(work);
    if (until !== undefined) return { kind: 'wait', until, everyone: false };
    const refused = work.reader.unreadable ?? givenUp(work);
    if (refused !== undefined) return refused;
    const done = await work.trySave({
      set: { status: 'submitted', provider_failures: 0 },
      remove: ['claim_id', 'claim_until', 'not_before', 'error_status_code', 'error_message', 'error_data'],
    });
    if (done) return undefined;
  }
}

/** For the recipients that are not at their end, the first time when one may be sent. */
function whenToGoOn(work: BatchWork): string | undefined {
  const now = work.deps.clock();
  const readable = work.states.filter(({ chunk }) => !work.reader.isUnreadable(chunk));
  return readable.flatMap((state) => timesOf(state, now, work)).sort()[0];
}

function timesOf(state: ChunkState, now: Date, { batch, deps: { limits } }: BatchWork): string[] {
  const { states, tries, call } = state;
  return [...states].flatMap((code, n) => {
    if (code === RECIPIENT_STATES.claimed) return [call?.until ?? now.toISOString()];
    if (code !== RECIPIENT_STATES.pending || isGivenUp(state, n, batch, limits)) return [];
    const made = (tries[n] ?? 0) - (batch.tries_before ?? 0);
    return [made <= 0 ? now.toISOString() : isoAfter(now, pauseAfter(made, limits.provider))];
  });
}

function givenUp({ states, batch, deps: { limits } }: BatchWork): Stop | undefined {
  const reasons = states.flatMap((state) =>
    placesOf(state.states, RECIPIENT_STATES.pending)
      .filter((n) => isGivenUp(state, n, batch, limits))
      .map((n) => state.reasons[n] ?? 'refused'),
  );
  const [reason] = reasons;
  return reason === undefined
    ? undefined
    : {
        kind: 'fail',
        refusal: { class: 'transient', reason },
        what: `The provider refused ${reasons.length} of the batch for the time being, in all tries`,
      };
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
