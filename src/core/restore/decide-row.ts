import { FAILED_OVER, successorId, successorOf } from '../delivery/failover.ts';
import { resultOf } from '../delivery/retry-record.ts';
import { CRASHED } from '../delivery/transitions/settlements.ts';
import { judge } from '../delivery/verdict.ts';
import { erasure } from '../forget/forget-one.ts';
import { planIndex } from '../indexing/index-plan.ts';
import { isGone } from '../model/history-index.ts';
import {
  asNotification,
  type ForeignRow,
  hasContent,
  type NotificationRow,
  type RetryRecord,
} from '../model/notification.ts';
import { stamped, withChange } from '../model/row-change.ts';
import { type RowState, stateOf } from '../model/row-state.ts';
import { actedOn, names } from './operator-acts.ts';
import {
  type Decided,
  deliveredBy,
  dueAt,
  ended,
  givenUpAgain,
  type Restored,
  stopped,
  stoppedUntilAsked,
  unrecorded,
  withoutEnd,
} from './restored-states.ts';
import type { OperatorAct, RestoreTerms, Survivors } from './survivors.ts';
import { lifeOfSurvivors, type Recorded, recordedOf, withAttempts } from './survivors.ts';

interface Case {
  readonly row: NotificationRow;
  readonly state: RowState;
  readonly recorded: Recorded;
  readonly survivors: Survivors;
  readonly terms: RestoreTerms;
}

/** The first that knows an answer decides. Each later one knows that the earlier ones do not apply. */
const RULES: readonly ((one: Case) => Decided | undefined)[] = [
  livesAnew,
  untouchedSinceItsEnd,
  delivered,
  perhapsErased,
  handedOn,
  givenUp,
  retried,
  outcomeUnknown,
  asItWas,
];

/**
 * Decides on a restored row by everything that survived it. What is known to have ended is not sent again; what is known
 * to have gone on goes on from there; what nobody knows is stopped until a person decides.
 * @param copy as the restored table has it
 */
export function decideRow(copy: ForeignRow, survivors: Survivors, terms: RestoreTerms): Restored {
  if (isGone(copy, terms.now)) return { do: 'leave_out' };
  const taken = takenIn(copy, survivors, terms);
  if (taken === 'ask') return { do: 'ask', why: 'not_taken_in' };
  if (taken === undefined) return { do: 'put', as: 'as_it_was', row: copy };
  const row = asNotification(taken);
  const one = { row, state: stateOf(row, terms.now), recorded: recordedOf(row, survivors.records), survivors, terms };
  let decided: Decided | undefined;
  for (const rule of RULES) decided ??= rule(one);
  const final = erasedSince(actedOn(decided ?? asItWas(one), one, terms), one);
  const put = final.row && { row: final.row === row ? taken : written(row, final.row, terms) };
  const more = final.with && { with: final.with };
  return 'ask' in final
    ? { do: 'ask', why: final.ask, ...put, ...more }
    : { do: 'put', as: final.as, row: put?.row ?? taken, ...more };
}

function written(was: NotificationRow, row: NotificationRow, terms: RestoreTerms): ForeignRow {
  const remove = (Object.keys(was) as (keyof NotificationRow)[]).filter((name) => !(name in row));
  return { ...withChange(was, stamped(was, { set: row, remove }, terms)) };
}

/**
 * A row that its writer had just put. If it was taken in since, its content is stored, and it goes on as the indexer made
 * it. @returns undefined: the indexer takes it in when it is put
 */
function takenIn(copy: ForeignRow, survivors: Survivors, terms: RestoreTerms): ForeignRow | 'ask' | undefined {
  const isOurs = copy['work_queue'] !== undefined || copy['work_at'] !== undefined || !hasContent(copy);
  if (isOurs || copy['failure_reason'] !== undefined || copy['send_status'] === 'SUCCESS') return copy;
  if (survivors.content === undefined && survivors.records.length === 0)
    return terms.records_survived ? undefined : 'ask';
  const plan = planIndex(copy, terms.now, terms.policy, { stored: true, shards: terms.shards });
  if (plan.do !== 'index') return undefined;
  const row: Record<string, unknown> = { ...copy, ...plan.set };
  for (const column of plan.remove) delete row[column];
  const whose = lifeOfSurvivors(survivors, terms);
  if (whose === 'this') return row;
  const isActedOn = terms.acts.some((act) => names(act, asNotification(row), terms));
  return whose === 'unsure' || isActedOn ? 'ask' : undefined;
}

/** Its writer has corrected it, or put it anew: what columns it has now is lost. */
function livesAnew({ row, recorded, survivors, ...others }: Case): Decided | undefined {
  const life = survivors.content?.life ?? 0;
  if (life <= (row.life ?? 0)) return undefined;
  const since = survivors.records.filter(({ retry_attempt }) => retry_attempt >= life);
  const proof = since.find(({ retry_status }) => retry_status === 'SUCCESS');
  if (proof !== undefined)
    return { as: 'delivered', row: deliveredBy(proof, { ...row, life, last_attempt: proof.retry_attempt }) };
  // Of what was delivered, and did not come back, its writer may only have corrected the recipient, for that case.
  const arrived = recorded.proof && deliveredBy(recorded.proof, withAttempts(row, recorded, others.terms.policy));
  const isSent = row.send_status === 'SUCCESS' ? arrived || !recorded.newest : arrived && row.send_status === 'SENDING';
  if (isSent && since.length === 0) return { ask: 'put_anew', row: { ...(arrived ?? row), next_life: life } };
  const anew = { ...row, life, last_attempt: Math.max(life - 1, ...since.map(({ retry_attempt }) => retry_attempt)) };
  const successor = lostSuccessor({ ...others, recorded, survivors, row: anew });
  return { ask: 'put_anew', row: stopped(anew, 'put_anew'), ...(successor && { with: { successor } }) };
}

function untouchedSinceItsEnd({ row, state, recorded }: Case): Decided | undefined {
  const isOver = state === 'delivered' || state === 'stopped' || state === 'set_aside' || state === 'dead';
  const isRefuted = recorded.proof !== undefined && state !== 'delivered';
  return isOver && recorded.newest === undefined && !isRefuted ? { as: 'as_it_was', row } : undefined;
}

/** What was handed on before an event showed that it had arrived takes its successor along: nobody wants that any more. */
function delivered(one: Case): Decided | undefined {
  const { row, recorded, terms } = one;
  if (recorded.proof === undefined) return undefined;
  const arrived = deliveredBy(recorded.proof, withAttempts(row, recorded, terms.policy));
  const lost = lostSuccessor(one);
  if (lost === undefined) return { as: 'delivered', row: arrived };
  const successor_log_id = successorId(row.log_id, row.life);
  return { as: 'delivered', row: { ...arrived, successor_log_id }, with: { successor: withdrawn(lost, terms) } };
}

/** The successor of what arrived or was erased: nobody sends it any more. */
function withdrawn(lost: Restored, { now }: RestoreTerms): Restored {
  if (lost.do !== 'put' || lost.row['work_queue'] === undefined) return lost;
  const row = asNotification(lost.row);
  const record = row.send_status === 'SENDING' ? { with: { record: unrecorded(row, now) } } : {};
  return { do: 'put', as: 'cancelled', row: { ...ended(row, 'CANCELLED') }, ...record };
}

/** The row that continues it, where only its records or its content are left. */
function lostSuccessor({ row, recorded, survivors, terms }: Case): Restored | undefined {
  const { row: there, survivors: its } = survivors.successor ?? {};
  const channel = row.fallback_channel;
  if (channel === undefined || there !== undefined || its === undefined) return undefined;
  if (its.records.length === 0 && its.content === undefined) return undefined;
  // At the latest by its first attempt, and not before its predecessor was given up.
  const made = new Date(its.records[0]?.retry_at ?? recorded.newest?.retry_at ?? terms.now);
  const copy = successorOf(row, channel, survivors.content?.fallback ?? {}, { now: made, policy: terms.policy });
  return decideRow({ ...copy }, its, { ...terms, acts: terms.acts.map(unsureOf) });
}

/** When it was made is lost, and so whether it was among those that an operation matched. */
const unsureOf = (act: OperatorAct): OperatorAct => ('operation' in act.of ? { ...act, certain: false } : act);

/** Its successor was made: its row, its records or its content says so. Otherwise the pipeline hands it on once more. */
function handedOn(one: Case): Decided | undefined {
  const { row, recorded, survivors, terms } = one;
  const reason = recorded.newest?.failure_reason;
  if (reason === undefined || row.fallback_channel === undefined || !FAILED_OVER.includes(reason)) return undefined;
  const successor = lostSuccessor(one);
  if (successor === undefined && survivors.successor?.row === undefined) return undefined;
  const more = successor && { with: { successor } };
  // Its claim found that its predecessor had been stopped, or had arrived: it continues nothing.
  if (survivors.successor?.survivors.records.some(isWithdrawal)) return givenUp(one, more);
  const over = ended(withAttempts(row, recorded, terms.policy), reason);
  return { as: 'handed_on', row: { ...over, successor_log_id: successorId(row.log_id, row.life) }, ...more };
}

const isWithdrawal = ({ retry_status, failure_reason }: RetryRecord): boolean =>
  retry_status === 'SKIPPED' && failure_reason === 'CANCELLED';

function givenUp({ row, recorded, terms }: Case, more?: Pick<Decided, 'with'>): Decided | undefined {
  const counted = withAttempts(row, recorded, terms.policy);
  const reason = endOf(counted, recorded.newest, terms);
  if (reason === undefined) return undefined;
  if (reason === 'lost') return { ask: 'came_back', row: stopped(counted, 'came_back'), ...more };
  if (reason === 'CANCELLED') return { as: 'cancelled', row: ended(counted, reason), ...more };
  const error_type = recorded.newest?.error_type ?? reason;
  return { ...givenUpAgain({ ...counted, error_type }, reason, terms), ...more };
}

/**
 * Why it was given up. A bounce leaves that to the next message: its record says why it came back, and when it was to be
 * retried, if that came first. A second bounce may say another reason, which would have been retried.
 */
function endOf(row: NotificationRow, newest: RetryRecord | undefined, terms: RestoreTerms) {
  if (newest?.failure_reason !== undefined) return newest.failure_reason;
  if (newest?.evidence === undefined || newest.retry_status !== 'FAILED') return undefined;
  const first_attempt_at = row.first_attempt_at ?? newest.retry_at;
  const verdict = judge(resultOf(newest), { row, first_attempt_at, now: terms.now }, terms);
  const reason = verdict.status === 'FAILED' ? verdict.failure_reason : 'lost';
  return newest.next_retry_at === undefined || reason === newest.error_type ? reason : undefined;
}

function retried({ row, recorded, terms }: Case): Decided | undefined {
  const { newest } = recorded;
  if (newest === undefined) return undefined;
  const goesOn = withoutEnd(withAttempts(row, recorded, terms.policy));
  const { sent_at: _, ...unsent } = goesOn;
  const failed = newest.error_type === undefined ? unsent : { ...unsent, error_type: newest.error_type };
  const isOverdue = (newest.next_retry_at ?? '') <= terms.now.toISOString();
  if (isOverdue && !terms.records_survived) return { ask: 'outcome_unknown', row: stopped(failed, 'outcome_unknown') };
  return { as: 'due_again', row: dueAt(failed, newest.next_retry_at ?? terms.now.toISOString(), terms.now) };
}

function perhapsErased({ row, recorded, survivors, terms }: Case): Decided | undefined {
  const isKnown = survivors.content !== undefined && !survivors.content.is_copy;
  if (!terms.forgotten.has(row.tenant_id) || isKnown || row.erased_at !== undefined) return undefined;
  const counted = withAttempts(row, recorded, terms.policy);
  if (recorded.newer.length === 0) return stoppedUntilAsked(counted, 'perhaps_erased', terms);
  return { ask: 'perhaps_erased', row: stopped(counted, 'perhaps_erased') };
}

/** Without its records nobody knows what became of an attempt that was due, or under way, at the time of the copy. */
function outcomeUnknown({ row, state, terms }: Case): Decided | undefined {
  const isHastened = terms.acts.some(({ what, ...act }) => what !== 'cancel' && names({ what, ...act }, row, terms));
  const hasBegun = row.send_status === 'SENDING' || state === 'due' || isHastened;
  return !terms.records_survived && hasBegun ? stoppedUntilAsked(row, 'outcome_unknown', terms) : undefined;
}

/** What waits is due at its time; what should have come since, now, as sweeps have passed the time that it had. */
function asItWas({ row, state, terms }: Case): Decided {
  const isWork = state === 'due' || state === 'waiting' || state === 'abandoned' || state === 'claimed';
  return { as: 'as_it_was', row: isWork ? dueAt(row, row.work_at ?? '', terms.now, row.send_status) : row };
}

/** What was erased stays so: of the copy goes whatever may say an address, as the address itself is not known here. */
function erasedSince(decided: Decided, { row: copy, survivors, terms }: Case): Decided {
  if (survivors.content?.erased_at === undefined || copy.erased_at !== undefined || decided.row === undefined)
    return decided;
  const { now } = terms;
  const isOpen = decided.row.send_status === 'SENDING';
  const row = isOpen ? withChange(decided.row, CRASHED) : decided.row;
  const { change } = erasure(row, stateOf(row, now), now, saysAnAddress);
  const { successor, ...others } = decided.with ?? {};
  const more = { ...others, ...(successor && { successor: withdrawn(successor, terms) }) };
  const record = { with: { ...more, ...(isOpen && { record: unrecorded(decided.row, now) }) } };
  const erased = change === undefined ? row : withChange(row, change);
  return { as: 'erased', row: { ...erased, erased_at: survivors.content.erased_at }, ...record };
}

const saysAnAddress = (value: unknown): boolean => /@|:\/\//.test(JSON.stringify(value) ?? '');
