import type { Refused } from '../delivery/ports.ts';
import { keptAs, retryLogId } from '../delivery/retry-record.ts';
import type { Verdict } from '../delivery/verdict.ts';
import { remedyOf } from '../model/error-types.ts';
import type { DeliveryEvidence, NotificationRow, RetryRecord } from '../model/notification.ts';

/** What a provider reports about an attempt after it accepted the message. */
export interface DeliveryEvent {
  readonly log_id: string;
  /** The attempt that the event is about: 0 for the first send. */
  readonly attempt: number;
  /** ISO-8601 UTC with milliseconds. */
  readonly at: string;
  readonly provider_message_id: string;
  readonly feedback: Feedback;
}

export type Feedback =
  /** A receiving server took the message; the recipient opened it; the recipient complained about it. */
  | { readonly kind: 'delivered' | 'opened' | 'complained' }
  /**
   * The message did not arrive after all. `final`: this holds also for a message that a receiving server has taken.
   * `suppressed`: the provider sends nothing to this recipient any more.
   */
  | {
      readonly kind: 'failed';
      readonly answer: Omit<Refused, 'ok'>;
      readonly final?: true;
      readonly suppressed?: true;
    }
  /** Something came back that says nothing about the delivery, for instance an automatic reply. */
  | { readonly kind: 'unclear'; readonly message: string };

interface RecordSubject {
  readonly row: NotificationRow;
  /** The record of the event's attempt. */
  readonly record?: RetryRecord;
  /** What events have shown of the attempt, this one included. */
  readonly evidence: DeliveryEvidence;
}

/** Attributes that only the record of a failed attempt has. */
const OF_FAILURE = ['error_type', 'error_details', 'failure_reason', 'next_retry_at', 'uncounted', 'remedy'] as const;

/** The record of an attempt that an event has shown to have arrived, whatever its provider's answer was. */
export function deliveredRecord(event: DeliveryEvent, { row, record, evidence }: RecordSubject): RetryRecord {
  const { provider_message_id } = event;
  return asArrived({ ...(record ?? unrecorded(event, row)), provider_message_id }, evidence);
}

export function asArrived(record: RetryRecord, evidence: DeliveryEvidence): RetryRecord {
  const arrived: { -readonly [K in keyof RetryRecord]: RetryRecord[K] } = {
    ...record,
    retry_status: 'SUCCESS',
    evidence,
    response_message: `An event showed that it arrived${record.error_type ? `, after ${record.error_type}` : ''}.`,
  };
  for (const name of OF_FAILURE) delete arrived[name];
  return arrived;
}

export function failedRecord(
  event: DeliveryEvent,
  { error_type, message, response_code, details }: Omit<Refused, 'ok'>,
  { row, record, evidence }: RecordSubject,
  verdict?: Verdict,
): RetryRecord {
  const given_up = verdict?.status === 'FAILED' ? verdict.failure_reason : undefined;
  return {
    ...(record ?? unrecorded(event, row)),
    retry_status: 'FAILED',
    evidence,
    error_type,
    provider_message_id: event.provider_message_id,
    response_message: message,
    remedy: remedyOf(given_up ?? error_type, { error_type, error_message: message }, row.channel),
    ...(response_code !== undefined && { response_code }),
    ...(details && { error_details: JSON.stringify(details) }),
    ...(verdict?.status === 'RETRY' && { next_retry_at: verdict.next_retry_at }),
  };
}

/** The record of an attempt whose worker crashed before it wrote one; the event shows that the attempt was made. */
function unrecorded({ attempt, at, provider_message_id }: DeliveryEvent, row: NotificationRow): RetryRecord {
  return {
    retry_log_id: retryLogId(row.log_id, attempt),
    original_log_id: row.log_id,
    retry_attempt: attempt,
    tenant_id: row.tenant_id,
    channel: row.channel,
    retry_at: at,
    retry_status: 'SUCCESS',
    provider_message_id,
    duration_ms: 0,
    trigger: 'sweep',
    requested_by: 'schedule',
    run_id: 'sweep-unrecorded',
    ...(row.claim_id && { claim_id: row.claim_id }),
    ...keptAs(row),
  };
}
