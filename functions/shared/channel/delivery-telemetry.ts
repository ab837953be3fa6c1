import { heldSince } from '../../../src/core/breaker/breaker.ts';
import type { BreakerDeps } from '../../../src/core/breaker/shared-breakers.ts';
import type { DeliveryReport } from '../../../src/core/delivery/attempt.ts';
import type { Holder } from '../../../src/core/delivery/ports.ts';
import type { Verdict } from '../../../src/core/delivery/verdict.ts';
import type { MetricName } from '../../../src/core/model/metrics.ts';
import type { RetryRecord } from '../../../src/core/model/notification.ts';
import type { ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import { epochMs } from '../../../src/core/model/time.ts';
import { count, countBy, type Observability } from '../runtime/observability.ts';

/**
 * Counts the outcomes of a batch. Equal outcomes are summed up first, because each metric costs CPU. The channel is a
 * default dimension of the function. Ids are never dimensions.
 * @param reports one per message, in the order of the batch
 */
export function countOutcomes(
  metrics: Observability['metrics'],
  batch: readonly ReceivedMessage[],
  reports: readonly DeliveryReport[],
): void {
  const sums = new Sums();
  reports.forEach((report, i) => {
    const received = batch[i];
    sumUp(report, sums);
    if (received !== undefined) timeOf(report, received, metrics);
  });
  for (const [name, value] of sums.plain) count(metrics, name, value);
  for (const [name, byType] of sums.byErrorType) {
    for (const [error_type, value] of byType) countBy(metrics, name, { error_type }, value);
  }
}

class Sums {
  readonly plain = new Map<MetricName, number>();
  readonly byErrorType = new Map<MetricName, Map<string, number>>();

  add(name: MetricName, value = 1): void {
    this.plain.set(name, (this.plain.get(name) ?? 0) + value);
  }

  addBy(name: MetricName, error_type: string): void {
    const sums = this.byErrorType.get(name) ?? new Map<string, number>();
    this.byErrorType.set(name, sums.set(error_type, (sums.get(error_type) ?? 0) + 1));
  }
}

function sumUp({ verdict, record, held_by, error, disposition }: DeliveryReport, sums: Sums): void {
  if (error !== undefined) sums.add('Faults');
  if (verdict === undefined) return;
  // An attempt that was taken over is not counted: its worker crashed, and the report has no record of it.
  if (held_by === undefined && record?.retry_status !== 'SKIPPED') {
    sums.add('Attempts');
    // Counted even if 0: the alarm on the ratio needs both metrics, above all in an outage.
    sums.add('Delivered', 0);
    if (verdict.status !== 'SUCCESS') sums.addBy('FailedAttempts', verdict.error_type);
    if (record !== undefined && record.retry_attempt > 0) sumUpRetry(record, verdict, sums);
  }
  if (verdict.status === 'SUCCESS') sums.add('Delivered');
  if (held_by === undefined && verdict.status === 'RETRY') sums.add('Retried');
  if (held_by !== undefined && 'breaker' in held_by) sums.add('Held');
  if (held_by !== undefined && 'budget' in held_by) sums.add('Paced');
  if (held_by !== undefined && ('worker' in held_by || 'storage' in held_by)) sums.add('Faults');
  // A dead notification whose forced attempt is held has died before: its message waits, and becomes no letter.
  const waits = held_by !== undefined && disposition.do !== 'dead_letter';
  if (verdict.status === 'FAILED' && !(waits && verdict.dead_letter)) {
    sums.add(endOf(verdict));
    sums.addBy('GivenUp', verdict.failure_reason);
  }
}

/**
 * First sends do not count, nor what operators and jobs ask for (retry-and-idempotency-design.md §6: the success rate of
 * automatic retries, the rate of manual retries by end users).
 */
function sumUpRetry({ requested_by = 'schedule' }: RetryRecord, { status }: Verdict, sums: Sums): void {
  const automatic = requested_by === 'schedule' ? 1 : 0;
  // Counted even if 0: what divides by them needs all three.
  sums.add('Retries', automatic);
  sums.add('RetriesDelivered', status === 'SUCCESS' ? automatic : 0);
  sums.add('ManualRetries', requested_by === 'user' ? 1 : 0);
}

function endOf(verdict: Extract<Verdict, { status: 'FAILED' }>): MetricName {
  if (verdict.successor_log_id !== undefined) return 'FailedOver';
  return verdict.dead_letter ? 'DeadLettered' : 'Stopped';
}

/** Records the times of each attempt, for percentiles. A redrive was due when an operator requested it. */
function timeOf({ record }: DeliveryReport, { message, sent_at }: ReceivedMessage, metrics: Observability['metrics']) {
  if (record === undefined || record.retry_status === 'SKIPPED') return;
  const [due, begun] = [epochMs(message.due), epochMs(record.retry_at)];
  const seconds = (since: number) => Math.max(0, begun - since) / 1000;
  count(metrics, 'SendDuration', record.duration_ms);
  count(metrics, 'LaneDelay', seconds(Math.max(due, sent_at.getTime())));
  if (record.trigger === 'sweep') count(metrics, 'ProcessingDelay', seconds(due));
}

/** Writes one wide log line per attempt. It has every id by which the attempt can be found, and no personal data. */
export function logDelivery(logger: Observability['logger'], report: DeliveryReport): void {
  const { log_id, tenant_id, channel, priority, run_id, disposition, attempt, verdict, record, dropped, error } =
    report;
  const { requeue_error: unqueued, record_error: unrecorded } = report;
  if (unqueued !== undefined)
    logger.warn('near retry could not be queued; the next sweep finds it', { log_id, error: unqueued as Error });
  if (unrecorded !== undefined) {
    const says = 'retry record could not be written; its row keeps it, and a sweep writes it';
    logger.warn(says, { log_id, error: unrecorded as Error });
  }
  const line = {
    log_id,
    tenant_id,
    channel,
    priority,
    run_id,
    disposition: disposition.do,
    ...(attempt !== undefined && { attempt }),
    ...spanOf(report),
    ...(dropped !== undefined && { dropped }),
    ...(report.held_by && { held_by: holderName(report.held_by) }),
    ...(verdict && { outcome: verdict.status, ...verdict }),
    ...(record && {
      retry_status: record.retry_status,
      trigger: record.trigger,
      response_code: record.response_code,
      duration_ms: record.duration_ms,
    }),
  };
  if (error !== undefined)
    logger.error('attempt failed on our side; the message comes back', { ...line, error: error as Error });
  else if (verdict?.status === 'FAILED') logger.warn('attempt', line);
  else logger.info(verdict ? 'attempt' : 'message', line);
}

/** For a trace made of log lines (examples/traces/README.md): who has the producer's trace finds every attempt. */
function spanOf({ trace }: DeliveryReport) {
  if (trace === undefined) return {};
  const { traceparent: _, ...ids } = trace;
  return ids;
}

function holderName(holder: Holder): string {
  if ('content' in holder) return 'new content of its writer';
  if ('worker' in holder) return 'a worker without time';
  if ('storage' in holder) return holder.storage;
  return 'breaker' in holder ? holder.breaker : `the budget of ${holder.budget}`;
}

/** What operators are told of the breakers. */
export function breakerTelemetry({ logger, metrics }: Observability): Pick<BreakerDeps, 'onTransition' | 'onFault'> {
  return {
    onTransition(to, breaker) {
      const { id, since, error_type, probe_at } = breaker;
      count(metrics, to === 'opened' ? 'BreakersOpened' : 'BreakersClosed');
      const line = { breaker: id, since, error_type, held: heldSince(breaker) };
      if (to === 'opened') logger.warn('breaker opened: its notifications are held', { ...line, probe_at });
      else logger.info('breaker closed', line);
    },
    onFault: (error) =>
      logger.warn('the state of the breakers could not be read or written', { error: error as Error }),
  };
}
