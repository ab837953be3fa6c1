import { claimEntries, expireCall, placesOf } from '../accounting/chunk-changes.ts';
import type { Chunk, ChunkKey, ChunkState } from '../model/chunk.ts';
import { type ExclusionReason, RECIPIENT_STATES } from '../model/recipient-state.ts';
import type { BatchWork } from './batch-work.ts';
import { isGivenUp } from './judge-answer.ts';
import { makeCall } from './make-call.ts';
import { keyOf } from './record-outcome.ts';
import type { Stop } from './stop.ts';

/**
 * Sends what is pending in a chunk, each recipient at most once; who is refused for the time being waits for the next
 * pass. A chunk that another sender's call still holds is left for later, too.
 */
export async function sendChunk(key: ChunkKey, work: BatchWork): Promise<Stop | undefined> {
  const { clock, limits, pacing } = work.deps;
  const tried = new Set<number>();
  let most = work.probes ? 1 : limits.chunk_size;
  let chunk: Chunk | undefined;
  for (;;) {
    const state = stateOf(work, key);
    if (state.call !== undefined) {
      if (state.call.until > clock().toISOString()) return undefined;
      await expire(state, work);
      continue;
    }
    if (!(await work.isWanted())) return { kind: 'halt' };
    const pending = placesOf(state.states, RECIPIENT_STATES.pending);
    if (work.email.cancelled_at !== undefined) {
      if (pending.length === 0) return undefined;
      await exclude(state, new Map(pending.map((n) => [n, 'cancelled'])), work);
      continue;
    }
    const open = pending.filter((n) => !tried.has(n) && !isGivenUp(state, n, work.batch, limits));
    if (open.length === 0 || work.reader.isUnreadable(key.chunk)) return undefined;
    chunk ??= await work.reader.chunk(key.chunk);
    if (chunk === undefined) return undefined;
    const excluded = await work.checks.of(chunk, open, work);
    const left = open.filter((n) => !excluded.has(n));
    if (left.length === 0) {
      await exclude(state, excluded, work);
      continue;
    }
    const wanted = Math.min(left.length, most);
    const following = Math.min(left.length - wanted + pendingIn(work.nextOpen(key.chunk)), most);
    const { granted, retry_at } = await work.storage('reserve mails', () => pacing.reserve(wanted, following));
    if (granted <= 0) {
      const until = retry_at ?? new Date(clock().getTime() + limits.throttled_ms).toISOString();
      return { kind: 'wait', until, everyone: true };
    }
    const entries = left.slice(0, Math.min(granted, most));
    const result = await makeCall({ chunk, state, entries, excluded }, work);
    if (result.kind === 'stopped') return result.stop;
    if (result.kind === 'not-made') continue;
    const { judgement } = result;
    if (judgement.stop !== undefined) return judgement.stop;
    if (judgement.halve) most = Math.ceil(entries.length / 2);
    else if (judgement.suspect !== undefined) {
      // One call per recipient would fail everybody for a post that the provider does not take.
      work.suspects += 1;
      if (work.suspects >= limits.suspects) return { kind: 'fail', refusal: judgement.suspect };
      most = 1;
      for (const n of entries) tried.add(n);
    } else {
      // The bad entry stood alone, or there is none: larger calls may succeed again.
      if (judgement.outcomes.some((outcome) => outcome.state === 'submitted'))
        most = Math.min(most * 2, limits.chunk_size);
      for (const n of entries) tried.add(n);
    }
  }
}

function stateOf(work: BatchWork, { chunk }: ChunkKey): ChunkState {
  const state = work.states.find((known) => known.chunk === chunk);
  if (state === undefined) throw new Error(`Chunk ${chunk} of batch ${work.batch.batch_id} has no state.`);
  return state;
}

function pendingIn(state: ChunkState | undefined): number {
  return state === undefined ? 0 : placesOf(state.states, RECIPIENT_STATES.pending).length;
}

async function expire(state: ChunkState, work: BatchWork): Promise<void> {
  const { chunks, clock } = work.deps;
  const next = expireCall(state, clock().toISOString());
  if (next === undefined) return;
  const changed = await work.storage('take a call over', () => chunks.change(state, next));
  if (changed !== undefined) work.keep(changed);
  else await work.reloadState(keyOf(state));
}

async function exclude(state: ChunkState, excluded: ReadonlyMap<number, ExclusionReason>, work: BatchWork) {
  const next = claimEntries(state, { call_id: '', entries: [], until: '' }, excluded);
  if (next === undefined) return;
  const changed = await work.storage('exclude recipients', () => work.deps.chunks.change(state, next));
  if (changed !== undefined) work.keep(changed);
  else await work.reloadState(keyOf(state));
}
