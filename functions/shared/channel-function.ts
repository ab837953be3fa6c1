import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { parseQueueMessage } from '../../src/adapters/queue-message-schema.ts';
import { type Returned, returnToQueue } from '../../src/adapters/sqs/redelivery.ts';
import type { Lane } from '../../src/core/channels.ts';
import { LANES } from '../../src/core/channels.ts';
import { type DeliverDeps, type DeliveryReport, type Disposition, deliver } from '../../src/core/deliver.ts';
import { logDelivery } from './delivery-log.ts';
import { countOutcomes } from './delivery-metrics.ts';
import type { Observability } from './middleware.ts';

export interface ChannelFunctionDeps {
  readonly deliver: DeliverDeps;
  readonly sqs: SQSClient;
  readonly queues: Record<Lane, string>;
  /** Milliseconds an attempt may take from claim to settlement; with less left it is not begun. */
  readonly reserve_ms: number;
}

const LAST_RETURN: Disposition = { do: 'return', after_seconds: 0 };

/**
 * The handler of every channel: delivers the batch side by side, settles each message on its own and reports only
 * those that have to come back.
 */
export function createHandler(deps: ChannelFunctionDeps, { logger, metrics }: Observability) {
  return async (event: SQSEvent, context: Pick<Context, 'getRemainingTimeInMillis'>): Promise<SQSBatchResponse> => {
    const timely = context.getRemainingTimeInMillis() >= deps.reserve_ms;
    const handled = await Promise.all(
      event.Records.map(async (record) => ({
        record,
        disposition: await handle(record, timely, deps, logger, metrics),
      })),
    );
    const back = handled.filter(({ disposition }) => disposition.do !== 'done');
    const late = await giveBack(back, deps);
    if (late > 0)
      logger.warn('messages come back later than asked: their visibility could not be set', { count: late });
    return { batchItemFailures: back.map(({ record }) => ({ itemIdentifier: record.messageId })) };
  };
}

async function handle(
  record: SQSRecord,
  timely: boolean,
  deps: ChannelFunctionDeps,
  logger: Observability['logger'],
  metrics: Observability['metrics'],
): Promise<Disposition> {
  let report: DeliveryReport;
  try {
    const message = parseQueueMessage(record.body);
    if (!timely) return LAST_RETURN;
    report = await deliver(
      {
        message,
        message_id: record.messageId,
        sent_at: new Date(Number(record.attributes.SentTimestamp)),
        receive_count: Number(record.attributes.ApproximateReceiveCount),
      },
      deps.deliver,
    );
  } catch (error) {
    logger.error('message set aside: it goes to the DLQ', { message_id: record.messageId, error: error as Error });
    return { do: 'dead_letter' };
  }
  logDelivery(logger, report);
  countOutcomes(metrics, report);
  return report.disposition;
}

/** Sets when the messages that come back are visible again; a dead letter at once, until SQS moves it. */
async function giveBack(
  back: readonly { readonly record: SQSRecord; readonly disposition: Disposition }[],
  { sqs, queues }: ChannelFunctionDeps,
): Promise<number> {
  const byQueue = Map.groupBy(back, ({ record }) => queueUrl(record, queues));
  const late = await Promise.all(
    [...byQueue].map(([url, entries]) =>
      url === undefined
        ? entries.length
        : returnToQueue(
            sqs,
            url,
            entries.map(({ record, disposition }) => returned(record, disposition)),
          ),
    ),
  );
  return late.reduce((sum, count) => sum + count, 0);
}

function returned(record: SQSRecord, disposition: Disposition): Returned {
  const after_seconds = disposition.do === 'return' ? disposition.after_seconds : 0;
  return { receipt_handle: record.receiptHandle, after_seconds };
}

/** `arn:aws:sqs:<region>:<account>:<name>` and `https://…/<account>/<name>` end alike. */
function queueUrl(record: SQSRecord, queues: Record<Lane, string>): string | undefined {
  const name = record.eventSourceARN.split(':').at(-1);
  return LANES.map((lane) => queues[lane]).find((url) => url.split('/').at(-1) === name);
}
