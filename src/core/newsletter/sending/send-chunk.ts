import { isLeased } from '../../model/changes/lease.ts';
import { ExplainedError } from '../../model/problem.ts';
import { epochMs, isoAfter } from '../../model/time.ts';
import { claimEntries, expireCall, failPending, placesOf } from '../accounting/chunk-changes.ts';
import type { Chunk, ChunkKey, ChunkState } from '../model/chunk.ts';
import type { CallOutcome } from '../model/email-message.ts';
import type { BulkAnswer, BulkCall } from '../model/provider.ts';
import { EXPIRED, type ExclusionReason, RECIPIENT_STATES } from '../model/recipient-state.ts';
import { nextDay } from '../warming/domain-warming.ts';
import { BatchLostError, type BatchWork } from './batch-work.ts';
import { hasUsedUpTries, type Judgement, judgeAnswer } from './judge-answer.ts';
import { noteAnswer, whileSlotServes } from './note-answer.ts';
import { keyOf, type Recorded, recordOutcome } from './record-outcome.ts';
import { inTurn, isAccepted, mostPerCall, noteRefused, toldLater } from './refused-for-all.ts';
import { bulkEntries, type Stop, sentAs } from './send-deps.ts';

/**
 * Sends what is pending in a chunk, each recipient at most once; who is refused for the time being waits for the next
 * pass. A chunk that another sender's call still holds is left for later, too.
 */
export async function sendChunk(key: ChunkKey, work: BatchWork): Promise<Stop | undefined> {
  const { clock, limits, pacing } = work.deps;
  const tried = new Set<number>();
  let most = mostPerCall(work);
  let chunk: Chunk | undefined;
  for (;;) {
    const state = stateOf(work, key);
    if (state.call !== undefined) {
      if (state.call.until > clock().toISOString()) return undefined;
      await work.write('take a call over', state, expireCall(state, clock().toISOString()));
      continue;
    }
    if (!(await work.isWanted())) return { kind: 'halt' };
    const pending = placesOf(state.states, RECIPIENT_STATES.pending);
    if (work.email.cancelled_at !== undefined) {
      if (pending.length === 0) return undefined;
      await exclude(state, new Map(pending.map((n) => [n, 'cancelled'])), work);
      continue;
    }
    const left_out = (n: number) => tried.has(n) || work.refused.has(key.chunk, n);
    const open = pending.filter((n) => !left_out(n) && !hasUsedUpTries(state, n, work.batch, limits));
    if (open.length === 0 || work.reader.isUnreadable(key.chunk)) return undefined;
    chunk ??= await work.reader.chunk(key.chunk);
    if (chunk === undefined) {
      if (!work.reader.isGone(key.chunk)) return undefined;
      // An email that rested too long ends all the same: no retry brings the addresses back.
      const expired = new Map(pending.map((n) => [n, EXPIRED]));
      await work.write('end expired recipients', state, failPending(state, expired));
      continue;
    }
    const excluded = await work.checks.of(chunk, open, work);
    const left = open.filter((n) => !excluded.has(n));
    if (left.length === 0) {
      await exclude(state, excluded, work);
      continue;
    }
    const own = await ownMails(work);
    if (typeof own !== 'number') return own;
    const wanted = Math.min(left.length, most, own);
    const following = Math.min(left.length - wanted + pendingIn(work.nextOpen(key.chunk)), most, own - wanted);
    const allowance = await work.storage('reserve mails', () => pacing.reserve(wanted, following));
    const { granted } = allowance;
    if (granted <= 0) {
      const { why = 'rate', retry_at: until = isoAfter(clock(), limits.throttled_ms) } = allowance;
      return { kind: 'wait', until, hold: { for: why, until } };
    }
    const entries = inTurn(left, work, limits.refused_recipients).slice(0, Math.min(granted, wanted));
    const inOrder = entries.toSorted((a, b) => a - b);
    const result = await makeCall({ chunk, state, entries: inOrder, excluded }, work);
    if (result.kind === 'stopped') return result.stop;
    if (result.kind === 'not-made') continue;
    const { judgement } = result;
    if (judgement.stop !== undefined) return judgement.stop;
    if (judgement.halve) {
      most = Math.ceil(entries.length / 2);
      continue;
    }
    // The bad entry stood alone, or there is none: larger calls may succeed again.
    if (isAccepted(judgement)) most = Math.min(most * 2, limits.chunk_size);
    for (const n of entries) tried.add(n);
  }
}

/**
 * The mails that the sending domain may send now while it is warmed; the batch takes the fallback for those beyond. No
 * call is under way when the day ends: nobody knows of which day its mails would be.
 */
async function ownMails(work: BatchWork): Promise<number | Stop> {
  const { clock, limits } = work.deps;
  if (work.warmed === undefined) return Number.POSITIVE_INFINITY;
  const until = nextDay(clock());
  const ends = until.getTime() - clock().getTime() < limits.call_timeout_ms + SLACK_MS;
  if (ends) return { kind: 'wait', until: until.toISOString() };
  const wanted = work.states.reduce((sum, state) => sum + pendingIn(state), 0);
  const allowed = await work.storage('reserve mails of a domain', async () => work.warmed?.allowed(wanted, clock()));
  if (allowed === undefined || allowed > 0) return allowed ?? Number.POSITIVE_INFINITY;
  await work.save({ set: { fallback_sending_domain: true } });
  return Number.POSITIVE_INFINITY;
}

function stateOf(work: BatchWork, { chunk }: ChunkKey): ChunkState {
  const state = work.states.find((known) => known.chunk === chunk);
  if (state === undefined) throw new Error(`Chunk ${chunk} of batch ${work.batch.batch_id} has no state.`);
  return state;
}

function pendingIn(state: ChunkState | undefined): number {
  return state === undefined ? 0 : placesOf(state.states, RECIPIENT_STATES.pending).length;
}

function exclude(state: ChunkState, excluded: ReadonlyMap<number, ExclusionReason>, work: BatchWork): Promise<void> {
  const nobody = { call_id: '', entries: [], until: '' };
  return work.write('exclude recipients', state, claimEntries(state, nobody, excluded));
}

/** Between the claim of a call and its start, and between its time-out and its end. */
const SLACK_MS = 10_000;

type CallResult =
  | { readonly kind: 'made'; readonly judgement: Judgement; readonly entries: readonly number[] }
  /** Someone else changed the chunk meanwhile, or too much time passed before the call could begin. */
  | { readonly kind: 'not-made' }
  | { readonly kind: 'stopped'; readonly stop: Stop };

interface PlannedCall {
  readonly chunk: Chunk;
  readonly state: ChunkState;
  readonly entries: readonly number[];
  /** Excluded in the same write as the claim. */
  readonly excluded: ReadonlyMap<number, ExclusionReason>;
}

/** Claims the entries, calls the provider once, and records its answer (docs/decisions/newsletters/job.md#0100). */
async function makeCall(planned: PlannedCall, work: BatchWork): Promise<CallResult> {
  const { clock, limits, remaining_ms, pacing } = work.deps;
  const { entries } = planned;
  if (remaining_ms() < limits.call_timeout_ms + limits.record_reserve_ms + SLACK_MS) {
    return { kind: 'stopped', stop: { kind: 'continue' } };
  }
  // What can fail without a call fails before the claim: nobody becomes uncertain by it.
  const content = await callContent(planned, work).catch((error: unknown) => whyNoContent(error, planned, work));
  if ('kind' in content) return { kind: 'stopped', stop: content };
  // Once the claim has run out, as when storage answers late, another sender may have the batch and the slot.
  while (!isLeased(work.batch, clock())) await work.save();
  const claimed = await claim(planned, work);
  if (claimed === undefined) return { kind: 'not-made' };
  const { call } = claimed;
  const ends = Math.min(epochMs(call.until), clock().getTime() + remaining_ms() - limits.record_reserve_ms);
  const timeout_ms = Math.min(limits.call_timeout_ms, ends - clock().getTime());
  const record = (outcomes: CallOutcome['outcomes']) =>
    recordOutcome(claimed.state, { call_id: call.call_id, outcomes, at: clock().toISOString() }, work.deps);
  const isLate = work.warmed?.isFor(new Date(clock().getTime() + timeout_ms)) === false;
  if (timeout_ms < limits.call_timeout_ms / 2 || isLate) {
    const freed = keep(await record(entries.map((n) => ({ n, state: 'pending' }))), work);
    return freed ?? { kind: 'not-made' };
  }
  const answer = await whileSlotServes(callProvider({ ...content, timeout_ms }, work), work);
  const { provider_failures } = work;
  const { tries_before = 0 } = work.batch;
  const given = { entries, state: claimed.state, tries_before, provider_failures, limits, now: clock() };
  const judgement = judgeAnswer(answer, given);
  work.warmed?.count(countOutcomes(judgement.outcomes));
  const stopped = keep(await record(judgement.outcomes), work);
  if (stopped !== undefined) return stopped;
  work.provider_failures = judgement.provider_failures;
  const silent = await noteAnswer(answer, work);
  if (answer.kind === 'answered') work.was_answered = true;
  const refused = await noteRefused(planned.chunk, judgement, work);
  // Pacing is told for the calls to come; this one is recorded already.
  if (judgement.limited !== undefined) await pacing.refused(judgement.limited).catch(() => undefined);
  const found = silent ?? refused ?? toldLater(judgement, work);
  if (found !== undefined) return { kind: 'stopped', stop: found };
  // Another batch has the slot; an operator's matter is told all the same.
  const { stop } = judgement;
  if (work.gave_slot_away) return { kind: 'stopped', stop: stop?.kind === 'fail' ? stop : { kind: 'halt' } };
  return { kind: 'made', judgement, entries };
}

function countOutcomes(outcomes: Judgement['outcomes']) {
  const inState = (wanted: string) => outcomes.filter(({ state }) => state === wanted).length;
  return { submitted: inState('submitted'), uncertain: inState('uncertain') };
}

/** Keeps what was recorded; otherwise the sender ends. @throws BatchLostError */
function keep(recorded: Recorded, work: BatchWork): CallResult | undefined {
  if (recorded === 'down') return { kind: 'stopped', stop: { kind: 'storage' } };
  if (recorded === 'late') throw new BatchLostError('The call was taken for lost.');
  work.keep(recorded);
  return undefined;
}

/** The claimed state and its call; undefined when someone else changed the chunk. */
async function claim({ state, entries, excluded }: PlannedCall, work: BatchWork) {
  const { clock, limits, chunks, newId } = work.deps;
  const call_id = newId();
  const changed = await work.storage('claim the recipients of a call', () => {
    const call = { call_id, entries, until: isoAfter(clock(), limits.call_timeout_ms + SLACK_MS) };
    const next = claimEntries(state, call, excluded);
    if (next === undefined) throw new Error('A call without entries was planned.');
    return chunks.change(state, next);
  });
  // A claim whose answer was lost, and that was repeated later with another time, is found in the chunk.
  const claimed = changed ?? (await work.reloadState(keyOf(state)));
  work.keep(claimed);
  const { call } = claimed;
  return call?.call_id === call_id ? { state: claimed, call } : undefined;
}

async function callContent({ chunk, entries }: PlannedCall, work: BatchWork): Promise<Omit<BulkCall, 'timeout_ms'>> {
  const { email, content, batch, deps } = work;
  return {
    ...sentAs(content.newsletter, batch),
    rendering: await deps.renderings.of(email, content, batch),
    entries: await bulkEntries(chunk, entries, deps.linkOf),
  };
}

/** A post that cannot be rendered, or keys that cannot be had: tried again like a call, then the batch fails with the reason. */
function whyNoContent(error: unknown, { entries, state }: PlannedCall, work: BatchWork): Stop {
  const { limits, clock } = work.deps;
  // Only our own words are sure to hold nothing of the post or of a person.
  const message =
    error instanceof ExplainedError ? error.message : error instanceof Error ? error.name : 'unknown error';
  const refusal = { class: 'transient', reason: 'not_rendered', message } as const;
  const { provider_failures } = work;
  const given = { entries, state, tries_before: 0, provider_failures, limits, now: clock() };
  const judgement = judgeAnswer({ kind: 'refused', refusal }, given);
  work.provider_failures = judgement.provider_failures;
  const { stop = { kind: 'halt' } } = judgement;
  return stop.kind === 'fail' ? { ...stop, what: 'The mails of the batch could not be made' } : stop;
}

async function callProvider(call: BulkCall, { deps }: BatchWork): Promise<BulkAnswer> {
  try {
    return await deps.provider.send(call);
  } catch (error) {
    return { kind: 'unknown', error: error instanceof Error ? error.name : 'unknown error' };
  }
}
