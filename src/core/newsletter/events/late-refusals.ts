import { changeUntil } from '../../model/changes.ts';
import type { Clock } from '../../model/time.ts';
import { isLateRefusal, type Rejection, returnRefused } from '../accounting/chunk-changes.ts';
import { changeState, refreshBatch, sentBatches } from '../accounting/counts.ts';
import { reportHold } from '../lifecycle/advance.ts';
import { faultOf, holdAfter } from '../lifecycle/holds.ts';
import { withNextAt } from '../lifecycle/plan-slots.ts';
import { type Batch, type ChunkState, placeInBatch } from '../model/batch.ts';
import { type BatchEvents, type NewsletterEvent, WENT_ON } from '../model/batch-events.ts';
import type { Email } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import type { BatchStore, ChunkStore } from '../model/ports.ts';
import type { HoldDeps } from './hold.ts';

export interface LateRefusalDeps extends HoldDeps {
  readonly batches: Pick<BatchStore, 'read' | 'change' | 'list'>;
  readonly chunks: Pick<ChunkStore, 'states' | 'readState' | 'change'>;
  readonly clock: Clock;
  readonly limits: JobLimits;
}

type Late = Pick<BatchEvents, 'went_on_at' | 'late_refusals'>;

const wentOn = ({ kinds }: NewsletterEvent) => kinds.some((kind) => WENT_ON.includes(kind));

/**
 * What events tell of when mails were sent that went on, or were refused late. Events come in any order; the time of the
 * mail does not depend on it. @param most refusals that are kept: with as many the email holds
 */
export function lateAfter(known: Late, events: readonly NewsletterEvent[], most: number): Late {
  const went_on = events.flatMap((event) => (wentOn(event) && event.sent_at) || []);
  const [went_on_at] = [...went_on, known.went_on_at ?? []].flat().sort().reverse();
  let { late_refusals } = known;
  for (const { chunk, n, rejected: reason, sent_at } of events) {
    const place = placeInBatch(chunk, n);
    const before = late_refusals?.[reason ?? ''] ?? {};
    if (!isLateRefusal(reason) || sent_at === undefined || sent_at <= (before[place] ?? '')) continue;
    const places: [string, string][] = Object.entries(before).filter(([known]) => known !== String(place));
    places.push([String(place), sent_at]);
    places.sort(([, a], [, b]) => (a < b ? 1 : -1));
    late_refusals = { ...late_refusals, [reason]: Object.fromEntries(places.slice(0, most)) };
  }
  return { ...(went_on_at !== undefined && { went_on_at }), ...(late_refusals && { late_refusals }) };
}

/** Why so many recipients were refused late that everybody is, and since when: no mail that was sent since went on. */
export function refusedLate(all: readonly Late[], least: number) {
  const from = all.reduce((latest, { went_on_at: at = '' }) => (at > latest ? at : latest), '');
  const counts: Record<string, number> = {};
  for (const { late_refusals = {} } of all)
    for (const [reason, places] of Object.entries(late_refusals))
      counts[reason] = (counts[reason] ?? 0) + Object.values(places).filter((at) => at > from).length;
  const reason = Object.keys(counts).find((reason) => (counts[reason] ?? 0) >= least);
  return reason === undefined ? undefined : { reason, from };
}

/**
 * The question of src/core/newsletter/sending/batch-step.ts where it is events that refuse: calls were accepted, so
 * only a mail that went on shows that not everybody is. The email holds, also one that had ended; whoever was refused is
 * sent to again, first to a few. Everything may be repeated: the clock gives out what is to be asked.
 */
export async function judgeLate({ email_id, batch_id }: Batch, deps: LateRefusalDeps): Promise<void> {
  const read = () => deps.emails.read(email_id);
  const found = await read();
  if (found?.prepared === undefined) return;
  const all = found.cancelled_at === undefined ? await deps.events.list(email_id) : [];
  const everybody = refusedLate(all, deps.limits.refused_recipients);
  const settle = async (isLeft: boolean) => {
    const plan = (email: Email) => changeFor(everybody, email, isLeft, deps);
    const { row, changed } = await changeUntil(read, plan, deps.emails.change);
    if (row !== undefined && changed !== undefined && deps.log) reportHold(changed, row, { log: deps.log });
  };
  // Before, so that whoever is failed meanwhile is belated.
  if (everybody !== undefined) {
    await settle(false);
    await returnAll(email_id, everybody.reason, deps);
  }
  // Who was belated, or returned by an earlier try that ended before its email knew.
  const { pending = 0 } = (await deps.batches.read(email_id, batch_id))?.counts ?? {};
  // In any case: an end that was decided before somebody was returned does not happen.
  await settle(everybody === undefined && pending > 0);
}

function changeFor(
  everybody: ReturnType<typeof refusedLate>,
  { status, hold, cancelled_at }: Email,
  isLeft: boolean,
  { clock, limits }: LateRefusalDeps,
) {
  const now = clock();
  const at = now.toISOString();
  if (status === 'failed') return everybody && { set: { refused_late: { ...everybody, until: at } } };
  if (cancelled_at !== undefined) return everybody || isLeft ? withNextAt({ status: 'submitting' }, at) : undefined;
  if (everybody === undefined) {
    if (!hold?.late && !isLeft) return undefined;
    return withNextAt({ status: 'submitting' }, at, hold?.late ? ['hold'] : []);
  }
  const { reason } = everybody;
  const message = `${reason}, by events after it had accepted the mails`;
  // Who asks for something else finds out by itself.
  const isOther = hold !== undefined && (hold.late || faultOf(hold) !== undefined);
  const next = isOther ? hold : holdAfter(hold, { for: 'refused', late: true, reason, message }, now, limits);
  return withNextAt({ status: 'submitting', hold: next, refused_late: { ...everybody, until: at } }, next.ask_at);
}

/** Whoever was refused late for the reason is to be sent to again: nobody knows who would have been without the others. */
async function returnAll(email_id: string, reason: string, deps: LateRefusalDeps): Promise<void> {
  for (const { batch_id, failed_by_reason } of sentBatches(await deps.batches.list(email_id))) {
    if ((failed_by_reason[reason] ?? 0) === 0) continue;
    for (const state of await deps.chunks.states(email_id, batch_id))
      await changeState(state, (found) => returnRefused(found, (n) => found.reasons[n] === reason), deps);
    await refreshBatch(email_id, batch_id, deps, { watched: true });
  }
}

/** Who was refused with everybody, and is told of when mails go on again, as the call was open. */
export function belatedIn(state: ChunkState, rejections: ReadonlyMap<number, Rejection>, email: Email | undefined) {
  const { reason: everybodys, from, until } = email?.refused_late ?? { reason: '', from: '', until: '' };
  return (n: number): boolean => {
    const { reason, sent_at = '' } = rejections.get(n) ?? {};
    const isIts = reason === state.reasons[n] && sent_at === state.refused_at?.[n];
    return isIts && reason === everybodys && sent_at > from && sent_at <= until;
  };
}

/** Whether events may begin or end a hold for late refusals. */
export const mayJudgeLate = (events: readonly NewsletterEvent[], isWatched: boolean): boolean =>
  events.some((event) => isLateRefusal(event.rejected) || (isWatched && wentOn(event)));
