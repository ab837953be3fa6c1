import type { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { createRecordStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createEventRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { parseDeliveryEvent } from '../../src/adapters/email/delivery-event-message.ts';
import { createRetryQueue, returnToQueue } from '../../src/adapters/sqs/lanes.ts';
import { QUEUE_CALL_MS } from '../../src/core/delivery/policy/attempt-times.ts';
import {
  applyDeliveryEvent,
  type DeliveryEventDeps,
  type DeliveryEventReport,
} from '../../src/core/delivery-events/apply-delivery-event.ts';
import { createDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { createSqs } from '../shared/runtime/clients/sqs.ts';
import { deliveryEventsEnv } from '../shared/runtime/env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';

export interface DeliveryEventsDeps extends DeliveryEventDeps {
  readonly sqs: SQSClient;
  /** URL of the queue that feeds the function. */
  readonly queue: string;
}

/**
 * Applies the events that SES sends after it accepted an e-mail. An event that is unreadable or could not be applied is
 * received again until SQS moves it to the dead-letter queue. An event of an attempt that is under way is received
 * again after the attempt.
 */
export function createHandler(deps: DeliveryEventsDeps, observability: Observability) {
  return async (event: SQSEvent): Promise<SQSBatchResponse> => {
    const results = await Promise.all(event.Records.map((record) => handle(record, deps, observability)));
    const back = results.filter((result) => result !== undefined);
    const late = await returnToQueue(deps.sqs, deps.queue, back);
    if (late > 0)
      observability.logger.warn('events come back later than asked: their visibility could not be set', { late });
    return { batchItemFailures: back.map(({ itemIdentifier }) => ({ itemIdentifier })) };
  };
}

/** Seconds until an event is received again after our own storage failed. */
const AFTER_FAULT_SECONDS = 60;

/** @returns undefined when the event needs no further work */
async function handle(
  { messageId, receiptHandle, body }: SQSRecord,
  deps: DeliveryEventDeps,
  { logger, metrics }: Observability,
) {
  const back = (after_seconds: number) => ({ itemIdentifier: messageId, receipt_handle: receiptHandle, after_seconds });
  let event: ReturnType<typeof parseDeliveryEvent>;
  try {
    event = parseDeliveryEvent(body);
  } catch (error) {
    logger.error('unreadable event: it goes to the DLQ', { message_id: messageId, error: error as Error });
    return back(0);
  }
  if (event === undefined) {
    countDeliveryEvent(metrics, undefined);
    return undefined;
  }
  const { log_id, attempt } = event;
  try {
    const { requeue_error, ...report } = await applyDeliveryEvent(event, deps);
    countDeliveryEvent(metrics, report);
    if (requeue_error !== undefined) {
      logger.warn('retry could not be queued; the next sweep finds it', { log_id, error: requeue_error as Error });
    }
    const { feedback: told, ...line } = report;
    logger.info('delivery event', { ...line, told });
    return report.again_after_seconds === undefined ? undefined : back(report.again_after_seconds);
  } catch (error) {
    logger.error('event could not be applied; it comes back', { log_id, attempt, error: error as Error });
    return back(AFTER_FAULT_SECONDS);
  }
}

export const handler = bindFunction(deliveryEventsEnv, (env, observability) => {
  observability.metrics.setDefaultDimensions({ channel: 'email' });
  const dynamodb = createDynamoDb();
  const sqs = createSqs();
  const clock = () => new Date();
  const deps: DeliveryEventsDeps = {
    rows: createEventRows(dynamodb, env.NOTIFICATION_LOG_TABLE, clock),
    records: createRecordStore(dynamodb, env.NOTIFICATION_RETRY_LOG_TABLE),
    retries: createRetryQueue(sqs, env.LANE_QUEUES, { within_ms: QUEUE_CALL_MS }),
    policy: env.RETRY_POLICY,
    clock,
    random: Math.random,
    sqs,
    queue: env.DELIVERY_EVENTS_QUEUE,
  };
  return createHandler(deps, observability);
});

/**
 * Counts the outcome of an event. Undefined: its kind is ignored. An event that is delivered again counts only then.
 */
function countDeliveryEvent(metrics: Observability['metrics'], report: DeliveryEventReport | undefined): void {
  if (report === undefined || report.outcome === 'ignore') {
    count(metrics, 'IgnoredEvents');
    return;
  }
  if (report.again_after_seconds !== undefined) return;
  count(metrics, 'DeliveryEvents');
  if (report.outcome === 'reconcile') count(metrics, 'Reconciled');
  if (report.outcome === 'fail' || report.feedback === 'complained') count(metrics, 'Bounced');
}
