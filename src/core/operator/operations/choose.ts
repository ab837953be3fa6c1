import { CANCELLATION, GIVEN_UP, revival } from '../../delivery/transitions/without-attempt.ts';
import { createdAt } from '../../model/history-index.ts';
import { arrived, asNotification, type ForeignRow, type NotificationRow } from '../../model/notification.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import type { RowChange } from '../../model/row-change.ts';
import { stateOf } from '../../model/row-state.ts';
import { shownText } from '../../model/text.ts';
import { type Clock, epochMs, parseTime } from '../../model/time.ts';
import { checkCorrection, planCorrection } from '../correct.ts';
import { planRetry } from '../retry-now.ts';
import { matches } from '../search-filter.ts';
import { type Exclusion, exclusionOf, LEFT } from './exclusions.ts';
import { type Counts, NOTHING, type Operation, type Source } from './operation.ts';

/** What an operation does with a row: the change to write, with a message unless nothing is sent. */
export type Choice =
  | { readonly change: RowChange; readonly message?: { readonly due: string } }
  | { readonly exclude: Exclusion; readonly change?: undefined };

/** A row that belongs to the operation at all; others are not counted. */
export function belongs(row: ForeignRow, source: Source, operation: Operation): boolean {
  // Taken before; a retry puts the row further down its index, where it is read again.
  if (row['replay_id'] === operation.operation_id) return false;
  if (source === 'due') return createdAt(row) <= operation.cut_off;
  return source === 'dead' || wasGivenUp(row, operation.cut_off);
}

/**
 * Given up without a dead letter, or given up and delivered or under way since. Dead ones are read from their own index. A
 * row that changed after the cut-off is not as it was seen: somebody may have cancelled it after the preview.
 */
function wasGivenUp(row: ForeignRow, cut_off: string): boolean {
  if (row['failure_reason'] === undefined || changedAfter(row, cut_off)) return false;
  return stateOf(asNotification(row), new Date(cut_off)) !== 'dead';
}

/** Whoever changes a row sets its updated_at; another writer may do so in another form. */
function changedAfter(row: ForeignRow, cut_off: string): boolean {
  const updated_at = parseTime(shownText(row['updated_at']) ?? '');
  return updated_at !== undefined && updated_at.getTime() > epochMs(cut_off);
}

/**
 * Decides by the row as it is now. What was taken is what was shown: a row that matches no more, or changed since, is left,
 * even if it could be taken. Each change stores the operation's id, by which its repetition knows the row.
 */
export function choose(row: ForeignRow, operation: Operation, now: Date, policy: RetryPolicy): Choice {
  const choice = choiceByState(row, operation, now, policy);
  const isAsShown = matches(row, operation.filter) && !changedAfter(row, operation.cut_off);
  return 'exclude' in choice || isAsShown ? choice : { exclude: 'changed' };
}

/** The rows of a page that are taken, and why the others are not. @param before how many were taken before it */
export function chooseAll(
  rows: readonly ForeignRow[],
  operation: Operation,
  before: number,
  { clock, policy }: { readonly clock: Clock; readonly policy: RetryPolicy },
) {
  const excluded: Partial<Record<Exclusion, number>> = {};
  const chosen: string[] = [];
  const room = (operation.limit ?? Number.POSITIVE_INFINITY) - before;
  for (const row of rows) {
    const choice = choose(row, operation, clock(), policy);
    const exclude = 'exclude' in choice ? choice.exclude : chosen.length >= room ? 'beyond_limit' : undefined;
    if (exclude === undefined) chosen.push(String(row['log_id']));
    else excluded[exclude] = (excluded[exclude] ?? 0) + 1;
  }
  return { counts: { ...NOTHING, matched: rows.length, excluded } satisfies Counts, chosen };
}

function choiceByState(row: ForeignRow, operation: Operation, now: Date, policy: RetryPolicy): Choice {
  const notification = asNotification(row);
  const mark = { replay_id: operation.operation_id };
  const { max_age_ms, include_stopped } = operation;
  const age = max_age_ms !== undefined && { max_age_ms };
  switch (operation.kind) {
    case 'redrive': {
      const exclude = exclusionOf(row, { include_stopped, ...age }, now);
      if (exclude !== undefined) return { exclude };
      return {
        change: revival(notification, now, policy, operation.operation_id),
        message: { due: now.toISOString() },
      };
    }
    case 'correct': {
      const exclude = exclusionOf(row, { include_stopped: false, ...age }, now);
      if (exclude !== undefined) return { exclude };
      // It has arrived, or its writer has just put other content into it.
      if ('refused' in checkCorrection(notification, {}, now)) return { exclude: 'changed' };
      const { change, due } = planCorrection(notification, operation, { now, policy });
      return { change: marked(change, mark), message: { due } };
    }
    case 'give_up':
      return stateOf(notification, now) === 'dead' ? { change: marked(GIVEN_UP, mark) } : elsewhere(notification, now);
    case 'cancel': {
      const state = stateOf(notification, now);
      const isWaiting = state === 'due' || state === 'waiting';
      // Its next message says so.
      if (isWaiting && arrived(notification.delivery_by_attempt)) return { exclude: 'delivered' };
      return isWaiting ? { change: marked(CANCELLATION, mark) } : elsewhere(notification, now);
    }
    case 'retry': {
      const plan = planRetry(notification, now, policy);
      const isWaiting = stateOf(notification, now) === 'waiting';
      if (!isWaiting || plan.do === 'refuse' || plan.change === undefined) return elsewhere(notification, now);
      // Nobody asks for each of a thousand by name: none is forced, and what is held for a breaker or a rate waits for it.
      return { change: marked(plan.change, mark), message: { due: plan.due } };
    }
  }
}

function marked({ set, remove }: RowChange, mark: { readonly replay_id: string }): RowChange {
  return { set: { ...set, ...mark }, ...(remove && { remove }) };
}

/** Why a row that matches is left as it is. */
function elsewhere(row: NotificationRow, now: Date): Choice {
  if (row.is_deleted && row.send_status !== 'SUCCESS') return { exclude: 'deleted' };
  const state = stateOf(row, now);
  return { exclude: state === 'stopped' && row.failure_reason === 'CANCELLED' ? 'CANCELLED' : LEFT[state] };
}
