import { changeUntil } from '../../model/changes.ts';
import { ExplainedError } from '../../model/problem.ts';
import type { Clock } from '../../model/time.ts';
import {
  acceptUncertain,
  expireCall,
  placesOf,
  type Rejection,
  rejectSubmitted,
  returnRefused,
} from '../accounting/chunk-changes.ts';
import { changeState, refreshBatch } from '../accounting/counts.ts';
import {
  type Batch,
  CHUNK_SIZE,
  type ChunkKey,
  EXCLUDED_BATCH,
  placeInBatch,
  RECIPIENT_STATES,
} from '../model/batch.ts';
import {
  type BatchEvents,
  type EventKind,
  hadAnother,
  hasBit,
  type NewsletterEvent,
  SENT_AGAIN,
  showsMail,
  withBits,
} from '../model/batch-events.ts';
import type { ChunkStore, EventStore, MemberStore, Sealing } from '../model/ports.ts';
import type { Warming } from '../warming/domain-warming.ts';
import { pauseIfBad } from './hold.ts';
import { belatedIn, judgeLate, type LateRefusalDeps, lateAfter, mayJudgeLate } from './late-refusals.ts';
import { readRecipients, writeForPerson } from './unsubscribe.ts';

/** What became of a call is not recorded yet: the event comes back. */
class OpenCallError extends ExplainedError {
  override readonly name = 'OpenCallError';
}

export interface ApplyDeps extends LateRefusalDeps {
  readonly chunks: Pick<ChunkStore, 'states' | 'readState' | 'readChunk' | 'change'>;
  readonly events: Pick<EventStore, 'read' | 'change' | 'list'>;
  readonly members: Pick<MemberStore, 'suppress' | 'read'>;
  readonly sealing: Pick<Sealing, 'emailHash'>;
  readonly warming: Pick<Warming, 'report'>;
  readonly clock: Clock;
}

export interface AppliedEvents {
  /** Bits that were set for the first time, by kind. */
  readonly news: Readonly<Partial<Record<EventKind, number>>>;
  readonly suppressed: number;
  /** Recipients that events moved from uncertain to submitted. */
  readonly reconciled: number;
  /** Events of recipients that do not exist, such as those of test mails. */
  readonly ignored: number;
}

/**
 * Applies the events of one batch (docs/decisions/newsletters/job.md#0100,
 * docs/decisions/newsletters/calls-and-outcomes.md#0109): one read and one write for all of them, none where every bit
 * is set already. The bits come first and the states then; a sender that takes over does it the other way round, so one
 * of both sees that an uncertain recipient was accepted. Everything may be repeated.
 */
export async function applyEvents(
  email_id: string,
  batch_id: string,
  events: readonly NewsletterEvent[],
  deps: ApplyDeps,
): Promise<AppliedEvents> {
  const batch = batch_id === EXCLUDED_BATCH ? undefined : await deps.batches.read(email_id, batch_id);
  const known = events.filter(({ chunk, n }) => batch !== undefined && chunk < batch.chunks && n < CHUNK_SIZE);
  const ignored = events.length - known.length;
  if (batch === undefined || known.length === 0) return { news: {}, suppressed: 0, reconciled: 0, ignored };
  const { bits, news } = await setBits(batch, known, deps);
  const reconciled = await moveStates(batch, known, bits, deps);
  const suppressed = await suppress(batch, known, deps);
  await reportDomain(batch, news, deps);
  // Not only what is new: an earlier try may have ended before this.
  if (known.some(({ kinds }) => kinds.some((kind) => kind === 'bounced' || kind === 'complained')))
    await pauseIfBad(batch, bits, deps.clock().toISOString(), deps);
  if (mayJudgeLate(known, batch.watched === true)) await judgeLate(batch, deps);
  return { news, suppressed, reconciled, ignored };
}

async function setBits({ email_id, batch_id }: Batch, events: readonly NewsletterEvent[], deps: ApplyDeps) {
  const { row, plan } = await changeUntil(
    () => deps.events.read(email_id, batch_id),
    (found) => {
      const late = lateAfter(found, events, deps.limits.refused_recipients);
      const { bits, news } = nextBits(found, events);
      const isNew = Object.keys(news).length > 0 || late.late_refusals !== found.late_refusals;
      return isNew ? { told: { bits, ...late }, news } : undefined;
    },
    (found, { told }) => deps.events.change(found, told),
  );
  return { bits: plan?.told.bits ?? row.bits, news: plan?.news ?? {} };
}

function nextBits({ bits }: BatchEvents, events: readonly NewsletterEvent[]) {
  const places = new Map<EventKind, Set<number>>();
  for (const { chunk, n, kinds } of events) {
    const place = placeInBatch(chunk, n);
    for (const kind of kinds) {
      if (hasBit(bits[kind], place)) continue;
      places.set(kind, (places.get(kind) ?? new Set()).add(place));
    }
  }
  const next: Partial<Record<EventKind, Uint8Array>> = { ...bits };
  const news: Partial<Record<EventKind, number>> = {};
  for (const [kind, found] of places) {
    next[kind] = withBits(bits[kind], [...found]);
    news[kind] = found.size;
  }
  return { bits: next, news };
}

/**
 * What is uncertain was accepted; what was rejected was not sent, unless another mail was. The batch's row tells whether
 * it has anything uncertain, but its sender writes it after the chunks, so a batch in work is looked at in any case.
 * Returns how many recipients were uncertain.
 */
async function moveStates(
  batch: Batch,
  events: readonly NewsletterEvent[],
  bits: BatchEvents['bits'],
  deps: ApplyDeps,
): Promise<number> {
  const { email_id, batch_id } = batch;
  const hasAnother = ({ chunk, n }: NewsletterEvent) => hadAnother({ bits }, placeInBatch(chunk, n));
  const now = await deps.batches.read(email_id, batch_id);
  const mayBeUncertain = now !== undefined && (now.status !== 'submitted' || now.counts.uncertain > 0 || now.resent);
  const mayMove = events.some((event) => event.rejected !== undefined || hasAnother(event));
  if (!mayBeUncertain && !mayMove) return 0;
  let [moved, changed] = [0, false];
  for (const state of (await deps.chunks.states(email_id, batch_id)).slice(0, batch.chunks)) {
    const own = events.filter((event) => event.chunk === state.chunk && !hasAnother(event));
    const reasons = new Map<number, Rejection>();
    for (const { n, rejected: reason, ...mail } of own) if (reason) reasons.set(n, { ...mail, reason });
    // Also by events that came while its call was open.
    const isNew = (n: number) => !reasons.has(n) && showsMail({ bits }, placeInBatch(state.chunk, n));
    // Nobody takes over what a dead sender claimed while its email is paused.
    let after = await changeState(state, (found) => expireCall(found, deps.clock().toISOString()), deps);
    const found = placesOf(after.states, RECIPIENT_STATES.uncertain).filter(isNew).length;
    if (found > 0) after = await changeState(after, (known) => acceptUncertain(known, isNew), deps);
    moved += found;
    const has = (n: number) => (now?.resent ? showsMail : hadAnother)({ bits }, placeInBatch(state.chunk, n));
    after = await changeState(after, (known) => acceptUncertain(known, has, SENT_AGAIN), deps);
    if ([...reasons.keys()].some((n) => after.states[n] === RECIPIENT_STATES.claimed))
      throw new OpenCallError(`Chunk ${state.chunk} of batch ${batch_id} is rejected during its call: it comes back.`);
    if (reasons.size > 0) {
      after = await changeState(after, (found) => rejectSubmitted(found, reasons), deps);
      // Whoever has told of another mail since has found nobody failed.
      const since = await deps.events.read(email_id, batch_id);
      const told = (n: number) => hadAnother(since, placeInBatch(state.chunk, n));
      after = await changeState(after, (found) => acceptUncertain(found, told, SENT_AGAIN), deps);
      const email = await deps.emails.read(email_id);
      after = await changeState(after, (found) => returnRefused(found, belatedIn(found, reasons, email)), deps);
    }
    changed ||= after.version !== state.version;
  }
  // Also when nothing changed: an earlier try may have ended before the counts were written.
  if (changed || mayMove || (now?.counts.uncertain ?? 0) > 0) await refreshBatch(email_id, batch_id, deps);
  return moved;
}

/**
 * A day with many bounces or complaints must not let the allowance of its domain grow. Only what is new is reported, so
 * what a death loses between the bits and this is missing there.
 */
async function reportDomain({ warmed_domain }: Batch, news: AppliedEvents['news'], deps: ApplyDeps): Promise<void> {
  const { bounced = 0, complained = 0 } = news;
  if (warmed_domain === undefined || bounced + complained === 0) return;
  await deps.warming.report(warmed_domain, { bounced, complained });
}

/**
 * Permanent bounces and complaints suppress the address for every newsletter of the tenant, whoever it belongs to now. A
 * complaint is the person's, so it also holds for the address that the member has now, as long as the recipients of the
 * mailing are stored; the address that got the mail is suppressed whenever the event comes.
 */
async function suppress(batch: Batch, events: readonly NewsletterEvent[], deps: ApplyDeps): Promise<number> {
  const { email_id, batch_id, tenant_id } = batch;
  const at = deps.clock().toISOString();
  let suppressed = 0;
  for (const [chunk, same] of Map.groupBy(
    events.filter((event) => event.suppress !== undefined),
    (event) => event.chunk,
  )) {
    const stored = await recipientsOf({ email_id, batch_id, chunk }, same, deps);
    for (const { n, suppress: reason, email_hash } of same) {
      const recipient = stored?.recipients[n];
      if (reason === undefined) continue;
      const write = (hash: string) => deps.members.suppress(tenant_id, hash, { reason, at });
      if (recipient !== undefined && reason === 'complained') {
        await writeForPerson({ tenant_id, recipient }, write, deps);
      } else {
        const hash = email_hash ?? (recipient && (await deps.sealing.emailHash(tenant_id, recipient.member_email)));
        if (hash === undefined) continue;
        await write(hash);
      }
      suppressed += 1;
    }
  }
  return suppressed;
}

/** The recipients of a chunk, where an event does not say itself whose address it is. */
async function recipientsOf(key: ChunkKey, events: readonly NewsletterEvent[], { chunks }: ApplyDeps) {
  if (events.every(({ suppress, email_hash }) => suppress === 'bounced' && email_hash !== undefined)) return undefined;
  return readRecipients(key, { hashed: events.every(({ email_hash }) => email_hash !== undefined) }, chunks);
}
