import type { DeliveryReport } from '../../src/core/deliver.ts';
import type { Observability } from './middleware.ts';

/** Counts what became of a message; the function's channel is a default dimension, ids never are one. */
export function countOutcomes(metrics: Observability['metrics'], { verdict, record, error }: DeliveryReport): void {
  if (error !== undefined) metrics.addMetric('Faults', 'Count', 1);
  if (verdict === undefined) return;
  metrics.addMetric('Attempts', 'Count', record?.retry_status === 'SKIPPED' ? 0 : 1);
  if (record && record.retry_status !== 'SKIPPED')
    metrics.addMetric('SendDuration', 'Milliseconds', record.duration_ms);
  if (verdict.status === 'SUCCESS') metrics.addMetric('Delivered', 'Count', 1);
  if (verdict.status === 'RETRY') metrics.addMetric('Retried', 'Count', 1);
  if (verdict.status === 'FAILED') metrics.addMetric(verdict.dead_letter ? 'DeadLettered' : 'Stopped', 'Count', 1);
}
