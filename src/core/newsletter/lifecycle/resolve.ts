import { isLeased, LEASE, Lease, leaseLeftMs } from '../../model/changes.ts';
import { groupsOf } from '../../model/collections.ts';
import { Problem } from '../../model/problem.ts';
import { isoAfter } from '../../model/time.ts';
import { acceptUncertain, afterDecision, type NextState, undecidedIn } from '../accounting/chunk-changes.ts';
import { changeState, countChunks, refreshBatch, sentBatches } from '../accounting/counts.ts';
import { type Batch, type ChunkState, placeInBatch } from '../model/batch.ts';
import { showsMail } from '../model/batch-events.ts';
import type { Email } from '../model/email.ts';
import type { Resolution, SendMessage } from '../model/email-message.ts';
import type { BatchStore, ChunkStore, EventStore } from '../model/ports.ts';
import { type AdvanceDeps, markOpen, reopen } from './advance.ts';
import { nobodyYet } from './operate.ts';
import { type BatchLease, batchLease } from './plan-slots.ts';

export interface ResolveDeps extends Omit<AdvanceDeps, 'batches'> {
  readonly batches: AdvanceDeps['batches'] & Pick<BatchStore, 'change'>;
  readonly chunks: Pick<ChunkStore, 'states' | 'readState' | 'change'>;
  readonly events: Pick<EventStore, 'read'>;
  readonly newId: () => string;
}

export interface Resolved {
  readonly email: Email;
  readonly resolved: number;
  /** Batches that are being sent just now: their uncertain recipients can be resolved afterwards. */
  readonly busy: number;
  /** Recipients that were left uncertain because they are so for too short a time: SES's events may still tell. */
  readonly waiting: number;
  /** When all of these may be decided about; absent where there are none. */
  readonly waiting_until?: string;
  /** There is more than a request can wait for: a message goes on with the decision. */
  readonly continued: boolean;
}

export type ResolveMessage = Extract<SendMessage, { kind: 'resolve' }>;

interface Decision {
  readonly email: Email;
  readonly action: Resolution;
  readonly seen_at: string;
}

/** A batch, and the chunks of it that the decision concerns. */
interface Looked {
  readonly batch: Batch;
  readonly meant: readonly ChunkState[];
  /** The batch counts others: it is being sent, or a decision was interrupted before it counted. */
  readonly stale: boolean;
  /** Undecided recipients of the chunks that were not uncertain for long enough. */
  readonly waiting: number;
  /** When the last of them became uncertain. */
  readonly since: string;
}

/** The longest that a write takes that was begun. */
const WRITE_MS = 20_000;

/**
 * An operator's decision about the uncertain recipients of an email: send to them again, at the risk of a second mail,
 * or leave it at that. Only who has been uncertain for `uncertain_ms` is sent to, because events may come; to leave them
 * waits for nothing, because an event that comes later still wins. Those whom events have shown to be accepted meanwhile
 * are submitted instead. A submitted email whose recipients are resent is submitting again; a failed one sends them with
 * its `retry`.
 * @throws Problem
 */
export async function resolveEmail(email_id: string, action: Resolution, deps: ResolveDeps): Promise<Resolved> {
  // Before the first read, which may take a while: who becomes uncertain meanwhile was not seen.
  const seen_at = deps.clock().toISOString();
  const email = await deps.emails.read(email_id);
  if (email === undefined) throw new Problem('not-found', `There is no email ${email_id}.`);
  if (email.prepared === undefined) throw nobodyYet(email);
  if (action === 'resend' && email.cancelled_at !== undefined) {
    throw new Problem(
      'conflict',
      `The email ${email_id} was cancelled: nobody is sent to again. Leave them as they are.`,
    );
  }
  return resolveFrom({ email, action, seen_at }, '', deps);
}

/** Goes on with a decision. The message may come again: only what was uncertain when the operator decided is meant. */
export async function continueResolve(
  { email_id, action, seen_at, after }: ResolveMessage,
  deps: ResolveDeps,
): Promise<Resolved | undefined> {
  const email = await deps.emails.read(email_id);
  return email?.prepared && resolveFrom({ email, action, seen_at }, after, deps);
}

async function resolveFrom(decision: Decision, after: string, deps: ResolveDeps): Promise<Resolved> {
  const { email, action, seen_at } = decision;
  const { email_id } = email;
  const { clock, limits, queues, batches } = deps;
  const begun = clock().getTime();
  const open = sentBatches(await batches.list(email_id)).filter(
    ({ batch_id, counts }) => counts.uncertain > 0 && batch_id > after,
  );
  let taken = false;
  let [resolved, busy, waiting, since, last] = [0, 0, 0, '', after];
  for (const group of groupsOf(open, limits.resolve_group)) {
    if (last !== after && clock().getTime() - begun >= limits.resolve_ms) {
      await queues.send({ version: 1, kind: 'resolve', email_id, action, seen_at, after: last });
      break;
    }
    const looked = await Promise.all(group.map((batch) => look(batch, decision, deps)));
    const decided = action === 'resend' ? await resend(looked, decision, deps) : await leave(looked, decision, deps);
    waiting += looked.reduce((sum, batch) => sum + batch.waiting, 0);
    since = looked.reduce((latest, batch) => (batch.since > latest ? batch.since : latest), since);
    resolved += decided.reduce((sum: number, count) => sum + (count ?? 0), 0);
    busy += decided.filter((count) => count === undefined).length;
    taken ||= action === 'resend' && decided.some((count) => count !== undefined);
    last = group.at(-1)?.batch_id ?? last;
  }
  if (taken) await reopen(email_id, deps);
  const continued = last !== (open.at(-1)?.batch_id ?? after);
  const until = waiting > 0 && { waiting_until: isoAfter(new Date(since), limits.uncertain_ms) };
  return { email: (await deps.emails.read(email_id)) ?? email, resolved, busy, waiting, ...until, continued };
}

async function look(batch: Batch, decision: Decision, deps: ResolveDeps): Promise<Looked> {
  const { email_id, batch_id, chunks } = batch;
  const states = (await deps.chunks.states(email_id, batch_id)).slice(0, chunks);
  const open = states.filter((state) => undecidedIn(state).length > 0);
  const young = open.filter((state) => !isMeant(state, decision, deps) && sinceOf(state) <= decision.seen_at);
  return {
    batch,
    meant: open.filter((state) => isMeant(state, decision, deps)),
    stale: batch.counts.uncertain !== countChunks(states).counts.uncertain,
    waiting: young.reduce((sum, state) => sum + undecidedIn(state).length, 0),
    since: young.map(sinceOf).sort().at(-1) ?? '',
  };
}

/** The age is that at the decision: what became uncertain later has been seen by nobody. */
function isMeant(state: ChunkState, { action, seen_at }: Decision, { limits }: ResolveDeps): boolean {
  const age_ms = action === 'resend' ? limits.uncertain_ms : 0;
  return sinceOf(state) <= isoAfter(new Date(seen_at), -age_ms);
}

/** States that were stored before the time was kept have that of their last call, which was no earlier. */
const sinceOf = ({ uncertain_at, processed_at = '' }: ChunkState): string => uncertain_at ?? processed_at;

/** Nothing is sent because of it, so it may be repeated where it was interrupted. */
function leave(group: readonly Looked[], decision: Decision, deps: ResolveDeps): Promise<readonly number[]> {
  return Promise.all(
    group.map(async ({ batch, meant }) => {
      const resolved = await decide(batch, meant, decision, deps, () => {});
      await refreshBatch(batch.email_id, batch.batch_id, deps);
      return resolved;
    }),
  );
}

/**
 * Takes the batches as a sender would, so that neither their end nor the end of the email can come between the change of a
 * chunk and its report: the claims come first, the mark on the email next, the chunks then. Where this is interrupted, the
 * claims end and senders find what was decided. Undefined for a batch that a sender has; those that have nobody to send to are
 * not touched.
 */
async function resend(
  group: readonly Looked[],
  decision: Decision,
  deps: ResolveDeps,
): Promise<readonly (number | undefined)[]> {
  const wanted = group.filter(({ meant, stale }) => meant.length > 0 || stale);
  const claimed = await Promise.all(wanted.map(({ batch }) => claimIdle(batch, deps)));
  if (claimed.some(Boolean)) await markOpen(decision.email.email_id, deps, deps.limits.resolve_lease_ms);
  return Promise.all(claimed.map((lease, i) => lease && resendClaimed(lease, wanted[i]?.meant ?? [], decision, deps)));
}

async function claimIdle(batch: Batch, deps: ResolveDeps): Promise<BatchLease | undefined> {
  if (batch.status === 'submitting' && isLeased(batch, deps.clock())) return undefined;
  // The mark comes before what it tells of: who is interrupted in between leaves the rest to a sender.
  const set = { status: 'submitting', resent: true, claim_id: deps.newId() } as const;
  return Lease.take(batch, { set, remove: ['not_before'] }, batchLease(batch, deps.limits.resolve_lease_ms, deps));
}

async function resendClaimed(
  lease: BatchLease,
  meant: readonly ChunkState[],
  decision: Decision,
  deps: ResolveDeps,
): Promise<number> {
  const { email_id, batch_id, chunks } = lease.row;
  const resolved = await decide(lease.row, meant, decision, deps, () => {
    if (leaseLeftMs(lease.row, deps.clock()) > WRITE_MS) return;
    throw new Problem('unavailable', 'The decision took too long. Resolve the email again: nothing was sent twice.');
  });
  await lease.change(async () => {
    const counted = countChunks((await deps.chunks.states(email_id, batch_id)).slice(0, chunks));
    const open = decision.email.status === 'failed' ? 'failed' : 'pending';
    return { set: { ...counted, status: counted.counts.pending > 0 ? open : 'submitted' }, remove: LEASE };
  });
  return resolved;
}

async function decide(
  { email_id, batch_id }: Batch,
  meant: readonly ChunkState[],
  decision: Decision,
  deps: ResolveDeps,
  check: () => void,
): Promise<number> {
  let resolved = 0;
  if (meant.length === 0) return 0;
  const { bits } = await deps.events.read(email_id, batch_id);
  for (const state of meant) {
    const accepted = (n: number) => showsMail({ bits }, placeInBatch(state.chunk, n));
    const known = await changeState(state, (found) => acceptUncertain(found, accepted), deps);
    let decided = 0;
    await changeState(
      known,
      (found) => {
        check();
        const next = isMeant(found, decision, deps) ? afterDecision(found, decision.action) : undefined;
        decided = next === undefined ? 0 : differences(found, next);
        return next;
      },
      deps,
    );
    resolved += decided;
  }
  return resolved;
}

/** Recipients whose state or reason differs. */
function differences(state: ChunkState, next: NextState): number {
  return [...state.states].filter((code, n) => code !== next.states[n] || state.reasons[n] !== next.reasons[n]).length;
}
