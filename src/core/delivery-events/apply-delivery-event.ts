import { queueIfNear } from '../delivery/conclude-attempt.ts';
import { withdrawable } from '../delivery/failover.ts';
import { CHANGE_TRIES, type RecordStore, type RetryQueue } from '../delivery/ports.ts';
import { owedRecord } from '../delivery/retry-record.ts';
import type { RetryRules } from '../delivery/verdict.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { followUp } from '../model/queue-message.ts';
import type { RowChange } from '../model/row-change.ts';
import { type Clock, epochMs } from '../model/time.ts';
import { traceIdOf } from '../model/trace.ts';
import type { DeliveryEvent } from './delivery-event.ts';
import { type EventPlan, type EventSubject, planDeliveryEvent } from './delivery-event-plan.ts';

/** NotificationLog, as delivery events need it: with rows that are in no work index. */
export interface EventRows {
  read(log_id: string): Promise<NotificationRow | undefined>;
  /**
   * Applies the change if nothing at all in the row has changed since its read, else returns false.
   * @param successor is cancelled by the same write, if it is as it was read, too: else nothing is written
   */
  change(row: NotificationRow, change: RowChange, successor?: NotificationRow): Promise<boolean>;
}

export interface DeliveryEventDeps extends RetryRules {
  readonly rows: EventRows;
  readonly records: RecordStore;
  readonly retries: RetryQueue;
  readonly clock: Clock;
}

/** What became of an event; carries no address. */
export interface DeliveryEventReport {
  readonly log_id: string;
  readonly attempt: number;
  readonly feedback: DeliveryEvent['feedback']['kind'];
  readonly outcome: EventPlan['do'];
  readonly because?: string;
  readonly error_type?: string;
  readonly tenant_id?: string;
  readonly trace_id?: string;
  /** An attempt is under way: when the event has to come back, in seconds. */
  readonly again_after_seconds?: number;
  /** The retry could not be queued; a sweep finds it. */
  readonly requeue_error?: unknown;
}

/**
 * Applies one delivery event: the row first, whose evidence only grows, then the record in place of the one that was read.
 * A weaker event that writes its record late finds another one there. A worker that crashes in between gets the event
 * back.
 * @throws the error of the storage, or Error when others keep changing the row: the event has to come back
 */
export async function applyDeliveryEvent(event: DeliveryEvent, deps: DeliveryEventDeps): Promise<DeliveryEventReport> {
  const { log_id, attempt, feedback } = event;
  const report = {
    log_id,
    attempt,
    feedback: feedback.kind,
    ...(feedback.kind === 'failed' && { error_type: feedback.answer.error_type }),
    ...(feedback.kind === 'unclear' && { because: feedback.message }),
  };
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const subject = await read(event, deps);
    if (subject === undefined) return { ...report, outcome: 'ignore', because: 'there is no such notification' };
    const known = { tenant_id: subject.row.tenant_id, ...traceIdOf(subject.row) };
    const now = deps.clock();
    const plan = planDeliveryEvent(event, subject, { now, policy: deps.policy, random: deps.random });
    if (plan.do === 'ignore') return { ...report, ...known, outcome: plan.do, because: plan.because };
    const { record } = plan;
    // A row that rests on an attempt has its record.
    if (record && !subject.stored && !(await deps.records.putIfAbsent(record))) continue;
    const shows = plan.do === 'reconcile' || record?.retry_status === 'SUCCESS';
    const successor = shows ? await withdrawable(subject.row, deps) : undefined;
    // Before the row says that a message waits for it: a repeated event finds its mark there, and queues none.
    const queued =
      plan.due === undefined ? {} : await queueIfNear(followUp(subject.row, plan.due, record?.run_id ?? ''), deps);
    const change = 'requeue_error' in queued ? unqueued(plan.change) : plan.change;
    const changes = change !== undefined || successor !== undefined;
    if (changes && !(await deps.rows.change(subject.row, change ?? { set: {} }, successor))) continue;
    if (record && subject.stored && !(await deps.records.replace(record, subject.stored))) continue;
    const again_at = plan.again_at === undefined ? undefined : epochMs(plan.again_at) - now.getTime();
    return {
      ...report,
      ...known,
      outcome: plan.do,
      ...(again_at !== undefined && { again_after_seconds: Math.max(1, Math.ceil(again_at / 1000)) }),
      ...queued,
    };
  }
  throw new Error(`Others kept changing the notification ${log_id} while an event about it was applied.`);
}

/** The change without the note of a message, so that the next look ahead sends one. */
function unqueued(change: RowChange | undefined): RowChange | undefined {
  if (change === undefined) return undefined;
  const { queued_for: _, ...set } = change.set;
  return { ...change, set };
}

async function read(
  { log_id, attempt }: DeliveryEvent,
  { rows, records }: DeliveryEventDeps,
): Promise<(EventSubject & { readonly stored?: RetryRecord }) | undefined> {
  const row = await rows.read(log_id);
  if (row === undefined) return undefined;
  const stored = await records.find(log_id, attempt);
  const owed = owedRecord(row);
  const record = stored ?? (owed?.retry_attempt === attempt ? owed : undefined);
  const newest = attempt === row.last_attempt ? record : ((await records.find(log_id, row.last_attempt)) ?? owed);
  return { row, ...(stored && { stored }), ...(record && { record }), ...(newest && { newest }) };
}
