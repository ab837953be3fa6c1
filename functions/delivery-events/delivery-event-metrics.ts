import type { DeliveryEventReport } from '../../src/core/delivery-events/apply-delivery-event.ts';
import { count } from '../shared/runtime/metrics.ts';
import type { Observability } from '../shared/runtime/observability.ts';

/**
 * Counts the outcome of an event. Undefined: its kind is ignored. An event that is delivered again counts only then.
 */
export function countDeliveryEvent(metrics: Observability['metrics'], report: DeliveryEventReport | undefined): void {
  if (report === undefined || report.outcome === 'ignore') {
    count(metrics, 'IgnoredEvents');
    return;
  }
  if (report.again_after_seconds !== undefined) return;
  count(metrics, 'DeliveryEvents');
  if (report.outcome === 'reconcile') count(metrics, 'Reconciled');
  if (report.outcome === 'fail' || report.feedback === 'complained') count(metrics, 'Bounced');
}
