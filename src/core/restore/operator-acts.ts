import { revival } from '../delivery/transitions/without-attempt.ts';
import type { NotificationRow } from '../model/notification.ts';
import { withChange } from '../model/row-change.ts';
import { checkRetry, stateOf } from '../model/row-state.ts';
import { epochMs, isoAfter, isoBefore, parseTime } from '../model/time.ts';
import type { AuditRecord } from '../operator/audit.ts';
import { choose } from '../operator/operations/choose.ts';
import type { Operation } from '../operator/operations/operation.ts';
import {
  type Decided,
  dueAt,
  ended,
  givenUpAgain,
  type Question,
  stopped,
  stoppedUntilAsked,
  unrecorded,
  withoutEnd,
} from './restored-states.ts';
import type { OperatorAct, Recorded, RestoreTerms } from './survivors.ts';

export interface ActsSince {
  readonly acts: readonly OperatorAct[];
  readonly forgotten: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Actions on more notifications than their record names. */
  readonly unnamed: readonly Readonly<Record<string, string | number>>[];
}

const FOR_EVER = '9999-12-31T23:59:59.999Z';

const ACTS: Readonly<Record<string, { readonly what: OperatorAct['what']; readonly done: string }>> = {
  cancel: { what: 'cancel', done: 'cancelled' },
  give_up: { what: 'give_up', done: 'given_up' },
  'dlq.drop': { what: 'give_up', done: 'dropped' },
  'dlq.redrive': { what: 'redrive', done: 'moved' },
  retry: { what: 'retry', done: 'queued' },
  redrive: { what: 'redrive', done: 'queued' },
};

/** A command may work on, and a bulk operation that somebody resumes for days. */
const COMMAND_MS = 60_000;

/** An erasure reads whole tables, for hours: one that began this long before the copy may have ended after it. */
const FORGET_MS = 86_400_000;

/** Acts before this time have ended before the copy was made. */
const actsFrom = (restored_to: string): string => isoBefore(restored_to, 2 * COMMAND_MS);
/** The same, also of erasures. */
export const auditedFrom = (restored_to: string): string => isoBefore(restored_to, FORGET_MS);

export function actsSince(
  restored_to: string,
  records: readonly AuditRecord[],
  operations: readonly Operation[],
): ActsSince {
  const acts: OperatorAct[] = [];
  const forgotten = new Map<string, Readonly<Record<string, string>>>();
  const unnamed: Readonly<Record<string, string | number>>[] = [];
  for (const { at, who, what, on, targets, result, details } of records) {
    if (at < auditedFrom(restored_to)) continue;
    if (what === 'forget') for (const tenant of on) forgotten.set(tenant, { at, who });
    if (at < actsFrom(restored_to)) continue;
    const act = ACTS[what];
    if (act === undefined) continue;
    // None was done, and it says so. What had ended may have ended by a try whose answer was lost.
    const isUnknown = result === undefined || result['failed'] !== undefined || result['ended'] !== undefined;
    if (!isUnknown && !result[act.done]) continue;
    const channels = channelsOf(what, details, on);
    const certain = channels === undefined ? result?.[act.done] === targets : result !== undefined;
    if (targets > on.length) unnamed.push({ what, at, who, targets });
    const until = isoAfter(new Date(at), COMMAND_MS);
    acts.push({ what: act.what, at, until, certain, of: channels ?? { log_ids: on } });
  }
  for (const operation of operations) {
    const { kind, status, limit, progress, started_at: at, ended_at } = operation;
    // A correction shows in the content, which is of another life then.
    if (kind === 'correct' || at === undefined || (ended_at ?? FOR_EVER) < actsFrom(restored_to)) continue;
    // Some were under way, or had changed since the preview: nobody knows which.
    const left = (progress.excluded.claimed ?? 0) + (progress.excluded.changed ?? 0);
    const certain = status === 'done' && limit === undefined && left === 0 && at >= restored_to;
    acts.push({ what: kind, at, until: ended_at ?? FOR_EVER, certain, of: { operation } });
  }
  return { acts: acts.sort((a, b) => (a.at < b.at ? -1 : 1)), forgotten, unnamed };
}

/** Letters by channel: those that were redriven, or dropped: all of them, or those alone whose notifications had moved on. */
function channelsOf(what: string, details = '{}', on: readonly string[]): OperatorAct['of'] | undefined {
  if (what === 'dlq.redrive') return { channels: on };
  if (what !== 'dlq.drop') return undefined;
  const { channels = [], stale = false } = JSON.parse(details) as { channels?: readonly string[]; stale?: boolean };
  if (!on.every((one) => channels.includes(one))) return undefined;
  return stale ? { log_ids: [] } : { channels };
}

interface Subject {
  /** As the copy has it. */
  readonly row: NotificationRow;
  readonly recorded: Recorded;
}

/** What operators did after the last attempt stands, unless the copy knows it; of unknown order, a person decides. */
export function actedOn(decided: Decided, { row, recorded }: Subject, terms: RestoreTerms): Decided {
  const { clocks_apart_ms, restored_to } = terms;
  // Whoever changes a row sets its updated_at.
  const written = parseTime(String(row.updated_at))?.toISOString() ?? restored_to;
  const copied = written < restored_to ? written : restored_to;
  const attempted = recorded.newest?.retry_at ?? copied;
  const last = Math.max(epochMs(copied), epochMs(attempted));
  const since = terms.acts.filter(({ until }) => epochMs(until) > last - clocks_apart_ms);
  const named = since.filter((act) => mayName(act, decided, terms));
  return since.reduce<Decided>((was, act) => {
    const isAfter = epochMs(act.at) > last + clocks_apart_ms;
    const certain = act.certain && isAfter && !named.some((other) => isMixed(act, other, clocks_apart_ms));
    const next = after({ ...act, certain }, was, terms);
    return { ...next, with: { ...was.with, ...next.with } };
  }, decided);
}

/** One ends what the other begins, and both were under way at once. */
function isMixed(act: OperatorAct, other: OperatorAct, clocks_apart_ms: number): boolean {
  const [first, second] = act.at < other.at ? [act, other] : [other, act];
  const atOnce = epochMs(second.at) < epochMs(first.until) + clocks_apart_ms;
  return atOnce && isEnd(act) !== isEnd(other);
}

const isEnd = ({ what }: OperatorAct): boolean => what === 'cancel' || what === 'give_up';

const mayName = (act: OperatorAct, { row }: Decided, terms: RestoreTerms): boolean =>
  row !== undefined && (names(act, row, terms) || isAlong(act, row));

/** The cancellation of a notification may have taken its successor along. */
const isAlong = ({ what, of }: OperatorAct, { predecessor_log_id }: NotificationRow): boolean =>
  what === 'cancel' && 'log_ids' in of && predecessor_log_id !== undefined && of.log_ids.includes(predecessor_log_id);

export function names({ of, at }: OperatorAct, row: NotificationRow, { policy }: RestoreTerms): boolean {
  if ('log_ids' in of) return of.log_ids.includes(row.log_id);
  if ('channels' in of) return of.channels.includes(row.channel);
  return !('exclude' in choose({ ...row }, of.operation, new Date(at), policy));
}

/** What a later act of an operator answers. */
const OF_ACTS: readonly Question[] = ['perhaps_cancelled', 'perhaps_retried'];

function after(act: OperatorAct, was: Decided, terms: RestoreTerms): Decided {
  const { row } = was;
  const isOpen = !('ask' in was) || (act.certain && OF_ACTS.includes(was.ask));
  const isIts = row !== undefined && names(act, row, terms);
  if (row === undefined || !isOpen || !(isIts || isAlong(act, row))) return was;
  const state = stateOf(row, terms.now);
  const isOver = state === 'delivered' || state === 'stopped' || state === 'set_aside';
  switch (act.what) {
    case 'cancel': {
      if (isOver && !('ask' in was)) return was;
      if (!act.certain || !isIts) return stoppedUntilAsked(row, 'perhaps_cancelled', terms);
      const record = row.send_status === 'SENDING' ? { with: { record: unrecorded(row, terms.now) } } : {};
      return { as: 'cancelled', row: ended(row, 'CANCELLED'), ...record };
    }
    case 'give_up': {
      const reason = state === 'dead' ? row.failure_reason : row.give_up;
      if (reason === undefined) return was;
      // Its letter may be gone.
      return act.certain ? { as: 'stopped', row: ended(row, reason) } : givenUpAgain(row, reason, terms);
    }
    default:
      return revived(act, row, was, terms);
  }
}

/** Somebody wanted it sent again, and no attempt followed. A retry of a dead one is one attempt, and changes no row before. */
function revived({ what, of, certain }: OperatorAct, row: NotificationRow, was: Decided, terms: RestoreTerms): Decided {
  const { now, policy } = terms;
  // Letters that were moved redrive their rows themselves; nobody knows which rows of a channel had one.
  if ('channels' in of) return was;
  const check = checkRetry(row, now);
  const state = 'state' in check ? check.state : undefined;
  const isTaken = state === 'stopped' ? what === 'retry' && 'log_ids' in of : state === 'dead' && what === 'redrive';
  if (!isTaken || !terms.records_survived) return was;
  if (!certain && row.failure_reason !== undefined && state === 'dead')
    return givenUpAgain(row, row.failure_reason, terms);
  if (!certain) return { ask: 'perhaps_retried', row: stopped(row, 'perhaps_retried') };
  const again = withChange(withoutEnd(row), revival(row, now, policy));
  return { as: 'due_again', row: dueAt(again, now.toISOString(), now) };
}
