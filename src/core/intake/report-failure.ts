import { CHANGE_TRIES, type ClaimStore, type RecordStore } from '../delivery/ports.ts';
import { planIndex } from '../indexing/index-plan.ts';
import type { IndexStore } from '../indexing/index-row.ts';
import { asNotification, type ForeignRow } from '../model/foreign-row.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { stateOf } from '../model/row-state.ts';
import type { Clock } from '../model/time.ts';
import type { Acceptance } from './accept.ts';
import { attemptedAt, claimForSend, claimOf, isRecordOf, judgeSend, messageDue, stateAfter } from './failed-send.ts';
import { laneMessage } from './lane-message.ts';
import type { FailedAttempt } from './notification-request.ts';
import { Problem } from './problem.ts';
import { requireOwnRow } from './require-own-row.ts';

/** The tables, as a reported failure needs them. */
export interface ReportStore extends Pick<ClaimStore, 'change' | 'settle'>, IndexStore {
  /** The row with all the columns of its writer, as it is now. */
  readRow(log_id: string): Promise<ForeignRow | undefined>;
}

export interface ReportDeps {
  readonly reports: ReportStore;
  readonly records: Pick<RecordStore, 'put'>;
  /** All records of a notification. */
  readonly recordsOf: (log_id: string) => Promise<readonly RetryRecord[]>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  /** A fresh id, for the run of each message. */
  readonly newId: () => string;
}

/**
 * A producer sent one of its notifications by itself and failed; from here on the pipeline has it. The row is claimed
 * for that send, the send recorded, then the row settled, as an attempt of ours is (design §6): whoever finds it in
 * between goes on by the same rules. Told again with the same attempted_at, it is answered again.
 * @throws Problem not-found, conflict with the reason, or unavailable while others keep changing it
 */
export async function reportFailure(
  log_id: string,
  tenant_id: string,
  failure: FailedAttempt,
  deps: ReportDeps,
): Promise<Acceptance> {
  // The same for every try: by the time of its claim a try knows that of the one before, whose answer got lost.
  const now = deps.clock();
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const answer = await attempt(log_id, tenant_id, failure, now, deps);
    if (answer !== undefined) return answer;
  }
  throw new Problem(
    'unavailable',
    'The failure is not recorded: others kept changing the notification. Report it anew.',
    {
      retry_after_seconds: 2,
    },
  );
}

/** Undefined when the notification has changed since it was read. */
async function attempt(
  log_id: string,
  tenant_id: string,
  failure: FailedAttempt,
  now: Date,
  deps: ReportDeps,
): Promise<Acceptance | undefined> {
  const image = requireOwnRow(await deps.reports.readRow(log_id), tenant_id, now);
  const row = asNotification(image);
  const before = await recordOfSame(row, failure, deps);
  // The newest attempt's record on a row that is claimed: the report died before it settled the row.
  const unsettled = before?.retry_attempt === row.last_attempt && row.send_status === 'SENDING';
  if (before !== undefined && !unsettled) {
    return { log_id, status: before.next_retry_at === undefined ? 'failed' : 'retrying', repeat: true };
  }
  if (row.is_deleted) throw conflict('its writer deleted it');
  const at = before === undefined ? attemptedAt(failure, now) : new Date(before.retry_at);
  const claimed = await claim(image, row, at, now, deps);
  return claimed && finish(claimed, failure, now, deps);
}

/** This very send's record, whatever attempts followed it. */
async function recordOfSame(row: NotificationRow, failure: FailedAttempt, { recordsOf }: ReportDeps) {
  if (failure.attempted_at === undefined || row.last_attempt < 0) return undefined;
  return (await recordsOf(row.log_id)).find((record) => isRecordOf(failure, record));
}

async function claim(
  image: ForeignRow,
  row: NotificationRow,
  at: Date,
  now: Date,
  deps: ReportDeps,
): Promise<NotificationRow | undefined> {
  switch (stateOf(row, now)) {
    case 'delivered':
      throw conflict('it is delivered already');
    case 'claimed':
      throw conflict('an attempt on it is under way');
    case 'abandoned':
      // A report that died after its claim is gone on with; anyone else's attempt is the pipeline's to take over.
      if (row.claim_until === at.toISOString()) return row;
      throw conflict('an attempt on it is under way');
    case 'dead':
    case 'stopped':
    case 'set_aside':
      throw conflict('it was given up already; have it retried instead');
    case 'due':
    case 'waiting': {
      const set = claimForSend(row, at, now);
      return (await deps.reports.change(row, { set, remove: ['next_retry_at'] })) ? { ...row, ...set } : undefined;
    }
    case 'not_taken_in':
      return takeIn(image, at, now, deps);
  }
}

/** What the indexer does for a row that its writer left FAILED, done here at once. */
async function takeIn(
  image: ForeignRow,
  at: Date,
  now: Date,
  { reports, policy }: ReportDeps,
): Promise<NotificationRow | undefined> {
  const log_id = String(image['log_id']);
  const first_attempt_at = image['first_attempt_at'] ?? at.toISOString();
  const failed = { ...image, send_status: 'FAILED', next_retry_at: undefined, first_attempt_at };
  const plan = planIndex(failed, now, policy);
  if (plan.do !== 'index') throw conflict(plan.do === 'set_aside' ? (plan.why ?? 'it is malformed') : 'it is deleted');
  const stored = await reports.hasContent(log_id);
  if (stored === (plan.content !== undefined)) {
    throw conflict(stored ? 'its content was written anew' : 'it has neither recipient nor body');
  }
  const owner = { log_id, tenant_id: String(image['tenant_id']), expires_at: Number(plan.set['expires_at']) };
  const hash = plan.content && {
    recipient_hash: await reports.putContent({ ...owner, sequence: '0' }, plan.content),
  };
  const counted = asNotification({ ...image, ...plan.set });
  const set = { ...plan.set, ...hash, ...claimOf(counted, at, now) };
  return (await reports.index(image, set, plan.remove)) ? asNotification({ ...image, ...set }) : undefined;
}

async function finish(
  claimed: NotificationRow,
  failure: FailedAttempt,
  now: Date,
  { reports, records, policy, newId }: ReportDeps,
): Promise<Acceptance> {
  const judged = judgeSend(claimed, failure, now, policy);
  await records.put(judged.record);
  // Who settled it instead found its claim run out, and goes by the record: the failure is not lost.
  if (judged.change !== undefined) await reports.settle(claimed, judged.change);
  const due = messageDue(judged, claimed);
  const message = due === undefined ? undefined : laneMessage(claimed, due, newId(), now);
  return { log_id: claimed.log_id, status: stateAfter(judged), repeat: false, ...(message && { message }) };
}

function conflict(because: string): Problem {
  return new Problem('conflict', `The failure is not recorded: ${because}.`);
}
