import { CLAIM_MS } from '../delivery/policy/attempt-times.ts';
import { CHANGE_TRIES, type ClaimStore, type RecordStore } from '../delivery/ports.ts';
import { recordOnce } from '../delivery/retry-record.ts';
import { claimForSend, claimOf } from '../delivery/transitions/claims.ts';
import { planIndex } from '../indexing/index-plan.ts';
import { ErasedError, type IndexStore, RowUnstorableError } from '../indexing/index-row.ts';
import {
  arrived,
  asNotification,
  type ForeignRow,
  mayArrive,
  type NotificationRow,
  type RetryRecord,
} from '../model/notification.ts';
import { Problem, unavailable } from '../model/problem.ts';
import { stateOf } from '../model/row-state.ts';
import { type Acceptance, laneMessage, missedMessage } from './accept.ts';
import { attemptedAt, isRecordOf, judgeSend, messageDue, stateAfter } from './failed-send.ts';
import type { FailedAttempt } from './notification-request.ts';
import type { IntakeDeps } from './ports.ts';
import { requireOwnRow } from './public-state.ts';

export interface ReportStore extends Pick<ClaimStore, 'change' | 'settle'>, IndexStore {
  /** The current row with all columns of its writer. */
  readRow(log_id: string): Promise<ForeignRow | undefined>;
}

export interface ReportDeps extends Pick<IntakeDeps, 'policy' | 'shards' | 'clock' | 'newId'> {
  readonly reports: ReportStore;
  readonly records: RecordStore;
  readonly recordsOf: (log_id: string) => Promise<readonly RetryRecord[]>;
}

/**
 * Records that a producer sent one of its notifications itself and failed. From then on the pipeline retries it. As for
 * an attempt of the pipeline, the row is claimed for the send, the send is recorded, and the row is
 * settled. Until then it is due later than any report lasts, and a worker would take it for one whose worker crashed:
 * it would record that in place of the failure, and retry at once. A second report with the same attempted_at gets the
 * same answer.
 * @throws Problem not-found, conflict with the reason, or unavailable while other processes keep changing the row
 */
export async function reportFailure(
  log_id: string,
  tenant_id: string,
  failure: FailedAttempt,
  deps: ReportDeps,
): Promise<Acceptance> {
  // The same time for every try, so that a try recognizes the claim of the try before whose answer got lost.
  const now = deps.clock();
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const answer = await tryReport({ log_id, tenant_id, failure, now }, deps);
    if (answer !== undefined) return answer;
  }
  throw unavailable(
    'The failure is not recorded, because other processes kept changing the notification. Report it again.',
  );
}

interface Report {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly failure: FailedAttempt;
  readonly now: Date;
}

/** Undefined when the notification has changed since it was read. */
async function tryReport(
  { log_id, tenant_id, failure, now }: Report,
  deps: ReportDeps,
): Promise<Acceptance | undefined> {
  const image = requireOwnRow(await deps.reports.readRow(log_id), tenant_id, now);
  const row = asNotification(image);
  const before = await recordOfSame(row, failure, deps);
  // The row is claimed and the record is that of its newest attempt: the first report died before it settled the row.
  const unsettled = before?.retry_attempt === row.last_attempt && row.send_status === 'SENDING';
  if (before !== undefined && !unsettled) {
    const message = missedMessage(row, before.retry_attempt, deps.newId(), now);
    const status = before.next_retry_at === undefined ? 'failed' : 'retrying';
    return { log_id, status, repeat: true, ...(message && { message }) };
  }
  if (row.is_deleted) throw conflict('its writer deleted the notification');
  const at = before === undefined ? attemptedAt(failure, now) : new Date(before.retry_at);
  const claimed = await claim({ image, row }, at, now, deps);
  return claimed && finish(claimed, failure, now, deps);
}

/** The record of this send, whichever attempts followed it. */
async function recordOfSame(row: NotificationRow, failure: FailedAttempt, { recordsOf }: ReportDeps) {
  if (failure.attempted_at === undefined || row.last_attempt < 0) return undefined;
  return (await recordsOf(row.log_id)).find((record) => isRecordOf(failure, record));
}

async function claim(
  { image, row }: { readonly image: ForeignRow; readonly row: NotificationRow },
  at: Date,
  now: Date,
  deps: ReportDeps,
): Promise<NotificationRow | undefined> {
  switch (stateOf(row, now)) {
    case 'delivered':
      throw conflict('the notification is delivered already');
    case 'claimed':
      throw conflict('an attempt is under way');
    case 'abandoned':
      // A report that crashed after its claim is continued. The pipeline takes over the claims of workers: these have ids.
      if (row.claim_until === at.toISOString() && !row.claim_id) return row;
      throw conflict('an attempt is under way');
    case 'dead':
    case 'stopped':
    case 'set_aside':
      throw conflict('the notification was given up already; retry it instead');
    case 'due':
    case 'waiting': {
      const set = claimForSend(row, at, afterReport(now));
      return (await deps.reports.change(row, { set, remove: ['next_retry_at'] })) ? { ...row, ...set } : undefined;
    }
    case 'not_taken_in':
      return takeIn(image, at, now, deps);
  }
}

/** Indexes a row that its writer left FAILED at once, as the indexer does. */
async function takeIn(
  image: ForeignRow,
  at: Date,
  now: Date,
  { reports, policy, shards }: ReportDeps,
): Promise<NotificationRow | undefined> {
  const log_id = String(image['log_id']);
  const first_attempt_at = image['first_attempt_at'] ?? at.toISOString();
  const failed = { ...image, send_status: 'FAILED', next_retry_at: undefined, first_attempt_at };
  const terms = { shards: await shards() };
  const plan = planIndex(failed, now, policy, terms);
  if (plan.do !== 'index')
    throw conflict(plan.do === 'set_aside' ? (plan.why ?? 'the row is malformed') : 'the row is deleted');
  const stored = await reports.hasContent(log_id);
  if (plan.content === undefined) {
    if (stored)
      throw unavailable('The failure is not recorded, because the notification is being taken in. Report it again.');
    throw conflict('it has neither recipient nor body');
  }
  if (stored) throw conflict('its content was written again');
  const owner = {
    log_id,
    tenant_id: String(image['tenant_id']),
    expires_at: Number(plan.set['expires_at']),
    attempts_before: Number(plan.set['send_attempts']),
  };
  try {
    const put = await reports.putContent({ ...owner, sequence: '0' }, plan.content);
    // Others have stored another content in this moment: the row is theirs to take in.
    if (put === undefined || put.life !== undefined) return undefined;
    const { life: _, ...hash } = put;
    const counted = asNotification({ ...image, ...plan.set });
    const set = { ...plan.set, ...hash, ...claimOf(counted, at, afterReport(now)) };
    if (!(await reports.index(image, set, plan.remove))) return undefined;
    const taken = Object.entries(image).filter(([column]) => !plan.remove.includes(column));
    return asNotification({ ...Object.fromEntries(taken), ...set });
  } catch (error) {
    if (error instanceof ErasedError) throw conflict('its recipient and content were erased');
    if (error instanceof RowUnstorableError) throw conflict(`it breaks ${error.message}`);
    throw error;
  }
}

const afterReport = (now: Date): Date => new Date(now.getTime() + CLAIM_MS);

async function finish(
  claimed: NotificationRow,
  failure: FailedAttempt,
  now: Date,
  { reports, records, policy, newId }: ReportDeps,
): Promise<Acceptance> {
  const judged = judgeSend(claimed, failure, now, policy);
  await recordOnce(judged.record, records);
  const work_at = now.toISOString();
  // An event may have shown that an earlier attempt arrived, or its writer have named who gets it instead. That is left to
  // the worker that takes the claim over.
  const { verdict } = judged;
  const isReplaced = verdict.status === 'FAILED' && mayArrive({ ...claimed, give_up: verdict.failure_reason });
  const settled =
    judged.change !== undefined &&
    !isReplaced &&
    !arrived(claimed.delivery_by_attempt) &&
    (await reports.change(claimed, judged.change));
  // If another worker settles the row first, it found the expired claim and uses the record: the failure is not lost.
  if (!settled) await reports.settle(claimed, { set: { work_at } });
  const due = settled ? messageDue(judged, undefined) : work_at;
  const message = due === undefined ? undefined : laneMessage(claimed, due, newId(), now);
  return { log_id: claimed.log_id, status: stateAfter(judged), repeat: false, ...(message && { message }) };
}

const conflict = (because: string): Problem => new Problem('conflict', `The failure is not recorded: ${because}.`);
