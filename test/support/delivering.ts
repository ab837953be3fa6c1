import { expect } from 'vitest';
import { type DeliverDeps, deliverBatch } from '../../src/core/delivery/deliver.ts';
import { FUNCTION_MS } from '../../src/core/delivery/policy/attempt-times.ts';
import {
  type Delivery,
  PASS_THROUGH,
  type Refused,
  type Sender,
  type SendResult,
} from '../../src/core/delivery/ports.ts';
import { type ProviderErrorType, policyOf } from '../../src/core/model/error-types.ts';
import { type NotificationRow, type RetryRecord, UPDATED_BY } from '../../src/core/model/notification.ts';
import type { QueueMessage, ReceivedMessage } from '../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { at, CONTENT, dueRow, iso, messageFor, received } from './rows.ts';

export const NOW = at(1000);
export const MINUTE = 60_000;
export const later = (ms: number): string => new Date(NOW.getTime() + ms).toISOString();
export const ACCEPTED = { ok: true, response_code: '200' } as const;
export const refused = (error_type: ProviderErrorType, more: Partial<Refused> = {}): Refused => ({
  ok: false,
  error_type,
  message: `it is ${error_type}`,
  ...more,
});

/** One channel function on the in-memory twins, at NOW. */
export function setUp(
  answer: (delivery: Delivery, signal: AbortSignal) => Promise<SendResult> | SendResult = () => ACCEPTED,
  more: Partial<DeliverDeps> = {},
) {
  const tables = new MemoryTables(() => NOW);
  const deliveries: Delivery[] = [];
  const queued: { message: QueueMessage; delay_seconds: number }[] = [];
  const sender: Sender = {
    async send(delivery, signal) {
      deliveries.push(delivery);
      return answer(delivery, signal);
    },
  };
  const deps: DeliverDeps = {
    rows: tables.rows,
    records: tables.records,
    contents: tables.contents,
    sender,
    gate: PASS_THROUGH,
    successors: tables.successors,
    retries: { send: async (message, delay_seconds) => void queued.push({ message, delay_seconds }) },
    policy: DEFAULT_RETRY_POLICY,
    clock: () => NOW,
    random: () => 0,
    claim_ms: 65_000,
    inSendTime: (send) => send(new AbortController().signal),
    pause: async () => {},
    timeLeft: () => FUNCTION_MS,
    ...more,
  };
  const put = (row: NotificationRow) => {
    tables.log.set(row.log_id, { ...row });
    tables.content.set(row.log_id, { ...CONTENT, tenant_id: row.tenant_id });
    return row;
  };
  const deliverOne = async (row = put(dueRow()), changes: Partial<ReceivedMessage> = {}) => {
    const [report] = await deliverBatch([received(messageFor(row), changes)], deps);
    return { report, row: tables.row(row.log_id), records: [...tables.retryLog.values()] };
  };
  return { tables, deliveries, queued, deps, put, deliverOne };
}

const ENDED: readonly unknown[] = ['SUCCESS', 'FAILED'];

/** The turn of a row that a write has just ended. */
export const TURN: string = expect.stringMatching(/^[0-9a-z]{7}$/);

/** The row of dueRow() after one attempt, with what every settlement writes. */
export function settledRow(changes: Partial<NotificationRow>, without: readonly (keyof NotificationRow)[] = []) {
  const row: Partial<NotificationRow> = {
    ...dueRow(),
    send_attempts: 2,
    attempts_left: 4,
    retry_count: 1,
    last_attempt: 1,
    claim_until: '',
    claim_id: '',
    updated_at: NOW.toISOString(),
    updated_by: UPDATED_BY,
    ...(ENDED.includes(changes.send_status) && { turn: TURN }),
    ...changes,
  };
  // A death frees the room of its turn.
  const freed = row.work_queue?.startsWith('dead') ? ['claim_until'] : [];
  return Object.fromEntries(Object.entries(row).filter(([name]) => ![...without, ...freed].includes(name)));
}

/** The counters of an attempt that used up no retry. */
export const UNCOUNTED = { send_attempts: 1, attempts_left: 5, retry_count: 0 } as const;

/** The run of each message that a worker of setUp() queues itself: it can pass for no redrive of another one. */
export const NEXT_RUN = 'sweep-1#000000';

/** What a settlement writes about a next attempt. A message is queued at once if SQS can delay it until then. */
export function dueAgain(ms: number): Partial<NotificationRow> {
  const next_retry_at = later(ms);
  const queued_for = ms <= 15 * MINUTE ? { queued_for: next_retry_at.slice(11, 19) } : {};
  return { send_status: 'RETRY', next_retry_at, work_at: next_retry_at, ...queued_for };
}

/** What a settlement writes when message-1 becomes a dead letter. */
export function deadLetter(failure_reason: NonNullable<NotificationRow['failure_reason']>): Partial<NotificationRow> {
  return {
    send_status: 'FAILED',
    failure_reason,
    work_queue: workQueueOf('dead', 'normal', 'log-1'),
    work_at: NOW.toISOString(),
    dead_message_id: 'message-1',
    dead_run_id: 'sweep-1',
    dead_sent_at: iso(),
  };
}

/** What a report says that names no attempt. */
export const REPORTED = {
  log_id: 'log-1',
  tenant_id: 'tenant-1',
  channel: 'webhook',
  priority: 'normal',
  run_id: 'sweep-1',
} as const;

/** The record of the first retry of dueRow(). */
export function retryRecord(changes: Partial<RetryRecord>): RetryRecord {
  return {
    retry_log_id: 'log-1#1',
    original_log_id: 'log-1',
    retry_attempt: 1,
    tenant_id: 'tenant-1',
    channel: 'webhook',
    retry_at: NOW.toISOString(),
    retry_status: 'FAILED',
    duration_ms: 0,
    trigger: 'sweep',
    requested_by: 'schedule',
    run_id: 'sweep-1',
    // Of each claim of a worker of setUp(): it draws the same token.
    claim_id: '000000',
    ...changes,
  };
}

/** What row and record say about a refusal, by default one of `refused`. */
export function saidOf(error_type: ProviderErrorType, attempt = 1, message = `it is ${error_type}`) {
  return {
    row: {
      error_type,
      error_message: message,
      error_details: JSON.stringify({ attempt, at: NOW.toISOString(), type: error_type, message }),
    },
    record: { error_type, response_message: message, error_details: '{}', remedy: policyOf(error_type).remedy },
  };
}
