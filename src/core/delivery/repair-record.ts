import { type NotificationRow, REQUESTED_BY, type RetryRecord, type Trigger } from '../model/notification.ts';
import { parseTime } from '../model/time.ts';
import type { DeliveryOutcome } from './delivery-report.ts';
import type { ClaimStore, RecordStore } from './ports.ts';
import { retryLogId } from './retry-record.ts';

const TRIGGERS: readonly unknown[] = ['sweep', 'manual', 'redrive'] satisfies Trigger[];

/** `record_due` of the row whose accepted attempt the record describes. */
export function recordDue(record: RetryRecord): string {
  const { retry_attempt, retry_at, duration_ms, trigger, requested_by, run_id } = record;
  const { response_code, response_message, provider_message_id, claim_id } = record;
  return JSON.stringify({
    retry_attempt,
    retry_at,
    duration_ms,
    trigger,
    requested_by,
    run_id,
    response_code,
    response_message,
    provider_message_id,
    claim_id,
  });
}

/** The record that the row owes. Undefined if it owes none, or names none: whoever may write to the table wrote it. */
export function owedRecord(row: NotificationRow): RetryRecord | undefined {
  const { log_id, tenant_id, channel, record_due } = row;
  const due = record_due === undefined ? undefined : parsed(record_due);
  if (due === undefined) return undefined;
  const { retry_attempt, retry_at, duration_ms, trigger, run_id } = due;
  const requested_by = REQUESTED_BY.find((known) => known === due['requested_by']);
  const well_formed =
    Number.isSafeInteger(retry_attempt) &&
    typeof retry_at === 'string' &&
    parseTime(retry_at) !== undefined &&
    typeof duration_ms === 'number' &&
    TRIGGERS.includes(trigger) &&
    typeof run_id === 'string';
  if (!well_formed) return undefined;
  return {
    retry_log_id: retryLogId(log_id, Number(retry_attempt)),
    original_log_id: log_id,
    retry_attempt: Number(retry_attempt),
    tenant_id,
    channel,
    retry_at,
    retry_status: 'SUCCESS',
    duration_ms,
    trigger: trigger as Trigger,
    ...(requested_by && { requested_by }),
    run_id,
    ...textsOf(due),
  };
}

const TEXTS = ['response_code', 'response_message', 'provider_message_id', 'claim_id'] as const;

function textsOf(due: Readonly<Record<string, unknown>>): Pick<RetryRecord, (typeof TEXTS)[number]> {
  return Object.fromEntries(TEXTS.flatMap((name) => (typeof due[name] === 'string' ? [[name, due[name]]] : [])));
}

function parsed(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes the record that a delivered row owes, then takes the row out of the work index. A record that is there already
 * stays: a delivery event may have corrected it. If RetryLog still refuses, the row stays for the next sweep.
 */
export async function repairRecord(
  row: NotificationRow,
  { rows, records }: { readonly rows: Pick<ClaimStore, 'change'>; readonly records: RecordStore },
): Promise<DeliveryOutcome> {
  const disposition = { do: 'done' } as const;
  const record = owedRecord(row);
  try {
    if (record !== undefined) await records.putIfAbsent(record);
    await rows.change(row, { set: {}, remove: ['work_queue', 'record_due'] });
    return { disposition, dropped: 'it is delivered already; the record that its row owed is written' };
  } catch (record_error) {
    return { disposition, dropped: 'it is delivered already, and its row still owes its record', record_error };
  }
}
