import { revival } from '../delivery/transitions/without-attempt.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { withChange } from '../model/row-change.ts';
import { checkRetry, stateOf } from '../model/row-state.ts';
import { epochMs, isoAfter, isoBefore } from '../model/time.ts';
import type { AuditRecord } from '../operator/audit.ts';
import { choose } from '../operator/operations/choose.ts';
import type { Operation } from '../operator/operations/operation.ts';
import { type Decided, dueAt, ended, stoppedUntilAsked, unrecorded, withoutEnd } from './restored-states.ts';
import type { OperatorAct, RestoreTerms } from './survivors.ts';

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
    // None was done, and it says so.
    if (result !== undefined && result['failed'] === undefined && !result[act.done]) continue;
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

/** What an operator did after the copy and the last attempt stands; if nobody knows what came first, a person decides. */
export function actedOn(decided: Decided, newest: RetryRecord | undefined, terms: RestoreTerms): Decided {
  const { clocks_apart_ms, restored_to } = terms;
  const last = Math.max(epochMs(restored_to), epochMs(newest?.retry_at ?? restored_to));
  const acts = terms.acts.flatMap((act) => {
    const isAfter = epochMs(act.at) > last + clocks_apart_ms;
    const mayBeAfter = act.what === 'cancel' && epochMs(act.until) > last - clocks_apart_ms;
    return isAfter || mayBeAfter ? [{ ...act, certain: act.certain && isAfter }] : [];
  });
  return acts.reduce<Decided>((was, act) => ('ask' in was ? was : after(act, was.row, was, terms)), decided);
}

export function names({ of, at }: OperatorAct, row: NotificationRow, { policy }: RestoreTerms): boolean {
  if ('log_ids' in of) return of.log_ids.includes(row.log_id);
  if ('channels' in of) return of.channels.includes(row.channel);
  return !('exclude' in choose({ ...row }, of.operation, new Date(at), policy));
}

type Known = Exclude<Decided, { ask: unknown }>;

function after(act: OperatorAct, row: NotificationRow, was: Known, terms: RestoreTerms): Decided {
  if (!names(act, row, terms)) return was;
  const state = stateOf(row, terms.now);
  const isOver = state === 'delivered' || state === 'stopped' || state === 'set_aside';
  if (act.what === 'cancel' && !isOver) {
    if (!act.certain) return stoppedUntilAsked(row, 'perhaps_cancelled', terms);
    const record = row.send_status === 'SENDING' ? { with: { record: unrecorded(row, terms.now) } } : {};
    return { as: 'cancelled', row: ended(row, 'CANCELLED'), ...record };
  }
  if (act.what === 'retry' || act.what === 'redrive') return revived(act, row, was, terms);
  const reason = state === 'dead' ? row.failure_reason : row.give_up;
  if (act.what !== 'give_up' || !act.certain || reason === undefined) return was;
  return { as: 'stopped', row: ended(row, reason) };
}

/** Somebody wanted it sent again, and no attempt followed. A retry of a dead one is one attempt, and changes no row before. */
function revived({ what, of, certain }: OperatorAct, row: NotificationRow, was: Known, terms: RestoreTerms): Decided {
  const { now, policy } = terms;
  // Letters that were moved redrive their rows themselves; nobody knows which rows of a channel had one.
  if ('channels' in of) return was;
  const check = checkRetry(row, now);
  const state = 'state' in check ? check.state : undefined;
  const isTaken = state === 'stopped' ? what === 'retry' && 'log_ids' in of : state === 'dead' && what === 'redrive';
  if (!certain || !isTaken || !terms.records_survived) return was;
  const again = withChange(withoutEnd(row), revival(row, now, policy));
  return { as: 'due_again', row: dueAt(again, now.toISOString(), now) };
}
