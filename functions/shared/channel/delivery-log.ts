import type { DeliveryReport } from '../../../src/core/delivery/delivery-report.ts';
import type { Holder } from '../../../src/core/delivery/provider-gate.ts';
import type { Observability } from '../runtime/observability.ts';

/** Writes one wide log line per attempt. It has every id by which the attempt can be found, and no personal data. */
export function logDelivery(logger: Observability['logger'], report: DeliveryReport): void {
  const { log_id, tenant_id, channel, priority, run_id, disposition, attempt, verdict, record, dropped, error } =
    report;
  if (report.requeue_error !== undefined) {
    logger.warn('near retry could not be queued; the next sweep finds it', {
      log_id,
      error: report.requeue_error as Error,
    });
  }
  if (report.record_error !== undefined) {
    logger.warn('retry record could not be written; its row keeps it, and a sweep writes it', {
      log_id,
      error: report.record_error as Error,
    });
  }
  const line = {
    log_id,
    tenant_id,
    channel,
    priority,
    run_id,
    disposition: disposition.do,
    ...(attempt !== undefined && { attempt }),
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

function holderName(holder: Holder): string {
  if ('content' in holder) return 'new content of its writer';
  if ('worker' in holder) return 'a worker without time';
  return 'breaker' in holder ? holder.breaker : `the budget of ${holder.budget}`;
}
