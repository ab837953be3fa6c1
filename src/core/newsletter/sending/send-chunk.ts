import { isLeased } from '../../model/changes.ts';
import { ExplainedError } from '../../model/problem.ts';
import { epochMs, isoAfter } from '../../model/time.ts';
import { claimEntries, expireCall, failPending, placesOf } from '../accounting/chunk-changes.ts';
import {
  type Chunk,
  type ChunkKey,
  type ChunkState,
  EXPIRED,
  type ExclusionReason,
  RECIPIENT_STATES,
} from '../model/batch.ts';
import type { CallOutcome } from '../model/email-message.ts';
import { mergeValues } from '../model/merge-fields.ts';
import type { BulkAnswer, BulkCall, BulkEntry, LinkOf } from '../model/provider.ts';
import { sentAs } from '../model/senders.ts';
import { nextDay } from '../warming/domain-warming.ts';
import { inTurn, mostPerCall, nextOpen, openPlaces, type Step, type Stop } from './batch-step.ts';
import type { HeldBatch } from './held-batch.ts';
import { type Judgement, judgeAnswer } from './judge-answer.ts';
import { giveSlotAway } from './leave-batch.ts';
import { afterCall, keyOf, recordOutcome } from './note-answer.ts';

/**
 * Sends what is pending in a chunk, each recipient at most once; who is refused for the time being waits for the next
 * pass. A chunk that another sender's call still holds is left for later, too.
 */
export async function sendChunk(key: ChunkKey, held: HeldBatch): Promise<Stop | undefined> {
  const { clock, limits, pacing } = held.deps;
  const tried = new Set<number>();
  let most = mostPerCall(held.known, limits);
  let chunk: Chunk | undefined;
  for (;;) {
    const state = stateOf(held, key);
    if (state.call !== undefined) {
      if (state.call.until > clock().toISOString()) return undefined;
      await held.write('take a call over', state, expireCall(state, clock().toISOString()));
      continue;
    }
    if (!(await held.isWanted())) return { kind: 'halt' };
    const pending = placesOf(state.states, RECIPIENT_STATES.pending);
    if (held.known.email.cancelled_at !== undefined) {
      if (pending.length === 0) return undefined;
      await exclude(state, new Map(pending.map((n) => [n, 'cancelled'])), held);
      continue;
    }
    const open = openPlaces(state, { tried }, held.known, limits);
    if (open.length === 0 || held.reader.isUnreadable(key.chunk)) return undefined;
    chunk ??= await held.reader.chunk(key.chunk);
    if (chunk === undefined) {
      if (!held.reader.isGone(key.chunk)) return undefined;
      // An email that rested too long ends all the same: no retry brings the addresses back.
      const expired = new Map(pending.map((n) => [n, EXPIRED]));
      await held.write('end expired recipients', state, failPending(state, expired));
      continue;
    }
    const excluded = await held.checks.of(chunk, open, held);
    const left = open.filter((n) => !excluded.has(n));
    if (left.length === 0) {
      await exclude(state, excluded, held);
      continue;
    }
    const own = await ownMails(held);
    if (typeof own !== 'number') return own;
    const wanted = Math.min(left.length, most, own);
    const next = pendingIn(nextOpen(held.known, key.chunk));
    const following = Math.min(left.length - wanted + next, most, own - wanted);
    const allowance = await held.storage('reserve mails', () => pacing.reserve(wanted, following));
    const { granted } = allowance;
    if (granted <= 0) {
      const { why = 'rate', retry_at: until = isoAfter(clock(), limits.throttled_ms) } = allowance;
      return { kind: 'wait', until, hold: { for: why, until } };
    }
    const entries = inTurn(left, held.known, limits.refused_recipients).slice(0, Math.min(granted, wanted));
    const inOrder = entries.toSorted((a, b) => a - b);
    const step = await makeCall({ chunk, state, entries: inOrder, most, excluded }, held);
    if (step.kind !== 'go-on') return step;
    most = step.most;
    for (const n of step.tried) tried.add(n);
  }
}

/**
 * The mails that the sending domain may still send today while it is warmed. When there are none, the batch goes out by
 * the fallback domain. No call starts that the end of the day would cut: nobody would know to which day its mails count.
 */
async function ownMails(held: HeldBatch): Promise<number | Stop> {
  const { clock, limits } = held.deps;
  if (held.warmed === undefined) return Number.POSITIVE_INFINITY;
  const until = nextDay(clock());
  const ends = until.getTime() - clock().getTime() < limits.call_timeout_ms + SLACK_MS;
  if (ends) return { kind: 'wait', until: until.toISOString() };
  const wanted = held.known.chunks.reduce((sum, state) => sum + pendingIn(state), 0);
  const allowed = await held.storage('reserve mails of a domain', async () => held.warmed?.allowed(wanted, clock()));
  if (allowed === undefined || allowed > 0) return allowed ?? Number.POSITIVE_INFINITY;
  await held.save({ set: { fallback_sending_domain: true } });
  return Number.POSITIVE_INFINITY;
}

function stateOf({ known: { chunks, batch } }: HeldBatch, { chunk }: ChunkKey): ChunkState {
  const state = chunks.find((known) => known.chunk === chunk);
  if (state === undefined) throw new Error(`Chunk ${chunk} of batch ${batch.batch_id} has no state.`);
  return state;
}

function pendingIn(state: ChunkState | undefined): number {
  return state === undefined ? 0 : placesOf(state.states, RECIPIENT_STATES.pending).length;
}

function exclude(state: ChunkState, excluded: ReadonlyMap<number, ExclusionReason>, held: HeldBatch): Promise<void> {
  const nobody = { call_id: '', entries: [], until: '' };
  return held.write('exclude recipients', state, claimEntries(state, nobody, excluded));
}

/** Between the claim of a call and its start, and between its time-out and its end. */
const SLACK_MS = 10_000;

interface PlannedCall {
  readonly chunk: Chunk;
  readonly state: ChunkState;
  readonly entries: readonly number[];
  /** Entries that the call might have had. */
  readonly most: number;
  /** Excluded in the same write as the claim. */
  readonly excluded: ReadonlyMap<number, ExclusionReason>;
}

/** Claims the entries, calls the provider once, and records its answer (docs/decisions/newsletters/job.md#0100). */
async function makeCall(planned: PlannedCall, held: HeldBatch): Promise<Step> {
  const { clock, limits, remaining_ms } = held.deps;
  const { entries, most } = planned;
  const notMade: Step = { kind: 'go-on', most, tried: [] };
  if (remaining_ms() < limits.call_timeout_ms + limits.record_reserve_ms + SLACK_MS) return { kind: 'continue' };
  // The content is made before the claim: if that fails, nobody becomes uncertain.
  const content = await callContent(planned, held).catch((error: unknown) => whyNoContent(error, planned, held));
  if ('kind' in content) return content;
  // If storage answered late, the lease may have run out, and another sender may have the batch: saving shows it.
  while (!isLeased(held.known.batch, clock())) await held.save();
  const claimed = await claim(planned, held);
  if (claimed === undefined) return notMade;
  const ends = Math.min(epochMs(claimed.call.until), clock().getTime() + remaining_ms() - limits.record_reserve_ms);
  const timeout_ms = Math.min(limits.call_timeout_ms, ends - clock().getTime());
  const record = async (outcomes: CallOutcome['outcomes']) => {
    const outcome = { call_id: claimed.call.call_id, outcomes, at: clock().toISOString() };
    held.keep(await recordOutcome(claimed.state, outcome, held.deps));
  };
  const isLate = held.warmed?.isFor(new Date(clock().getTime() + timeout_ms)) === false;
  if (timeout_ms < limits.call_timeout_ms / 2 || isLate) {
    await record(entries.map((n) => ({ n, state: 'pending' })));
    return notMade;
  }
  const answer = await whileSlotServes(callProvider({ ...content, timeout_ms }, held), held);
  const { provider_failures, batch } = held.known;
  const { tries_before = 0 } = batch;
  const given = { entries, state: claimed.state, tries_before, provider_failures, most, limits, now: clock() };
  const judgement = judgeAnswer(answer, given);
  held.warmed?.count(countOutcomes(judgement.outcomes));
  await record(judgement.outcomes);
  return afterCall(answer, judgement, planned.chunk.chunk, held);
}

function countOutcomes(outcomes: Judgement['outcomes']) {
  const inState = (wanted: string) => outcomes.filter(({ state }) => state === wanted).length;
  return { submitted: inState('submitted'), uncertain: inState('uncertain') };
}

/** The claimed state and its call; undefined when someone else changed the chunk. */
async function claim({ state, entries, excluded }: PlannedCall, held: HeldBatch) {
  const { clock, limits, chunks, newId } = held.deps;
  const call_id = newId();
  const changed = await held.storage('claim the recipients of a call', () => {
    const call = { call_id, entries, until: isoAfter(clock(), limits.call_timeout_ms + SLACK_MS) };
    const next = claimEntries(state, call, excluded);
    if (next === undefined) throw new Error('A call without entries was planned.');
    return chunks.change(state, next);
  });
  // The claim may have been applied although its answer was lost: then the chunk has this call.
  const claimed = changed ?? (await held.reloadState(keyOf(state)));
  held.keep(claimed);
  const { call } = claimed;
  return call?.call_id === call_id ? { state: claimed, call } : undefined;
}

async function callContent({ chunk, entries }: PlannedCall, held: HeldBatch): Promise<Omit<BulkCall, 'timeout_ms'>> {
  const { known, content, deps } = held;
  return {
    ...sentAs(content.newsletter, known.batch),
    rendering: await deps.renderings.of(known.email, content, known.batch),
    entries: await bulkEntries(chunk, entries, deps.linkOf),
  };
}

/** The post cannot be rendered, or a key not be read: retried like a refused call; in the end the batch fails. */
function whyNoContent(error: unknown, { entries, state, most }: PlannedCall, held: HeldBatch): Stop {
  const { limits, clock } = held.deps;
  // Only our own words are sure to hold nothing of the post or of a person.
  const message =
    error instanceof ExplainedError ? error.message : error instanceof Error ? error.name : 'unknown error';
  const refusal = { class: 'transient', reason: 'not_rendered', message } as const;
  const { provider_failures } = held.known;
  const given = { entries, state, tries_before: 0, provider_failures, most, limits, now: clock() };
  const { step, ...judged } = judgeAnswer({ kind: 'refused', refusal }, given);
  held.note({ provider_failures: judged.provider_failures });
  if (step.kind === 'go-on') return { kind: 'halt' };
  return step.kind === 'fail' ? { ...step, what: 'The mails of the batch could not be made' } : step;
}

async function callProvider(call: BulkCall, { deps }: HeldBatch): Promise<BulkAnswer> {
  try {
    return await deps.provider.send(call);
  } catch (error) {
    return { kind: 'unknown', error: error instanceof Error ? error.name : 'unknown error' };
  }
}

/** The entries of a call: places in the chunk, in order. */
function bulkEntries(chunk: Chunk, places: readonly number[], linkOf: LinkOf): Promise<readonly BulkEntry[]> {
  const { email_id, batch_id, chunk: number, tenant_id } = chunk;
  return Promise.all(
    places.map(async (n) => {
      const recipient = chunk.recipients[n];
      if (recipient === undefined) throw new Error(`Chunk ${number} of batch ${batch_id} has no recipient ${n}.`);
      const { unsubscribe_url, email_hash } = await linkOf(
        { email_id, batch_id, chunk: number, n },
        { tenant_id, member_email: recipient.member_email },
      );
      return {
        to: recipient.member_email,
        values: { ...mergeValues(recipient), unsubscribe_url },
        unsubscribe_url,
        tags: { email_id, chunk: `${batch_id}-${number}`, n: `${n}-${email_hash}` },
      };
    }),
  );
}

/** Waits for a call. If it hangs, its slot is given to another batch, and the sender goes on waiting without one. */
async function whileSlotServes(call: Promise<BulkAnswer>, held: HeldBatch): Promise<BulkAnswer> {
  let giving: Promise<void> | undefined;
  const stop = held.deps.repeat(held.deps.limits.hang_ms, () => {
    giving ??= giveSlotAway(held).catch(() => undefined);
    return giving;
  });
  try {
    return await call;
  } finally {
    stop();
    await giving;
  }
}
