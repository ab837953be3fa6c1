import type { DeliveryReport } from '../../src/core/deliver.ts';
import type { Verdict } from '../../src/core/judge.ts';
import type { MetricName } from '../../src/core/metrics.ts';
import { count } from './count.ts';
import type { Observability } from './middleware.ts';

/** Counts what became of a message; the function's channel is a default dimension, ids never are one. */
export function countOutcomes(
  metrics: Observability['metrics'],
  { verdict, record, held_by, error }: DeliveryReport,
): void {
  if (error !== undefined) count(metrics, 'Faults');
  if (verdict === undefined) return;
  const sent = record !== undefined && record.retry_status !== 'SKIPPED';
  count(metrics, 'Attempts', sent ? 1 : 0);
  if (sent) count(metrics, 'SendDuration', record.duration_ms);
  if (verdict.status === 'SUCCESS') count(metrics, 'Delivered');
  if (held_by !== undefined) count(metrics, 'Held');
  else if (verdict.status === 'RETRY') count(metrics, 'Retried');
  if (verdict.status === 'FAILED') count(metrics, endOf(verdict));
}

function endOf(verdict: Extract<Verdict, { status: 'FAILED' }>): MetricName {
  if (verdict.successor_log_id !== undefined) return 'FailedOver';
  return verdict.dead_letter ? 'DeadLettered' : 'Stopped';
}
