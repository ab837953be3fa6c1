import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { RECORD_CALL_MS } from '../../../core/delivery/policy/attempt-times.ts';
import type { ClaimStore, RecordStore } from '../../../core/delivery/ports.ts';
import { isStored, RECORD_GUARD } from '../../../core/delivery/retry-record.ts';
import {
  CONTENT_COLUMNS,
  FALLBACK_COLUMNS,
  type NotificationRow,
  type RetryRecord,
} from '../../../core/model/notification.ts';
import type { QueueMessage } from '../../../core/model/queue-message.ts';
import { asRead, type Guard, type RowChange, stamped, wasApplied, wasSettled } from '../../../core/model/row-change.ts';
import { maskedWords } from '../../../core/model/text.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import { workQueuePrefix } from '../../../core/model/work-index.ts';
import {
  GatheredError,
  gather,
  RECORD_HOLD_MS,
  SETTLE_WAIT_MS,
  SETTLEMENT_HOLD_MS,
  type SendsUnderWay,
  withinLimit,
} from '../../batching/gather.ts';
import { STATE_COLUMNS, toItem, toNotificationRow, toRetryRecord, toValue } from '../table/item.ts';
import { createRowReader, getItem, queryAll } from '../table/reads.ts';
import {
  createGuardedUpdates,
  executeStatements,
  type GuardedUpdate,
  insertStatement,
  MAX_STATEMENTS,
  whereOf,
} from '../table/statements.ts';
import { putGuarded, type StatementResult } from '../table/writes.ts';

/** For claims by a plan: also what the plan reads and others may write without a change of state. */
export const CLAIM_COLUMNS = [
  ...STATE_COLUMNS,
  'delivery_by_attempt',
  'give_up',
  'is_deleted',
] as const satisfies readonly (keyof NotificationRow)[];

export const CONTENT = [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS] as const;

/** A row that is due as its message says, that nobody sends, and that has an attempt left. */
export function claimable({ priority, due, channel, tenant_id }: QueueMessage): Guard {
  return [
    ['work_queue', 'begins_with', workQueuePrefix('due', priority)],
    ['work_at', '=', due],
    ['send_status', '<>', 'SENDING'],
    ['send_status', '<>', 'SUCCESS'],
    ['attempts_left', '>', 0],
    ['channel', '=', channel],
    ['tenant_id', '=', tenant_id],
  ];
}

/**
 * What a plan for a row depends on. Content that its writer puts into the row between the read and the claim stops the
 * claim: what is stored would go to the former recipient.
 */
export function asPlanned(row: NotificationRow): Guard {
  const read: Readonly<Record<string, unknown>> = { ...row };
  const absent = CONTENT.filter((column) => (read[column] ?? null) === null);
  return [...asRead(read, CLAIM_COLUMNS), ...asRead({}, absent)];
}

/**
 * The claim that the row was read with is the latest one. Its number alone does not tell: a row that its writer puts anew
 * counts from the beginning. A send that its producer reports has no token.
 */
function underItsClaim({ last_attempt, claim_id }: NotificationRow): Guard {
  const claim: Guard = asRead({ send_status: 'SENDING', last_attempt }, ['send_status', 'last_attempt']);
  return claim_id === undefined ? claim : [...claim, ['claim_id', '=', claim_id]];
}

/**
 * The same for a settlement. What stops a notification leaves nothing that sends it again: that waits for no content which
 * its writer has put into the row since the claim. A condition on absent columns needs a request of its own, so a row that
 * keeps a letter does without.
 */
export function settledBy(row: NotificationRow, { set, remove = [] }: RowChange): Guard {
  const stops = set.failure_reason !== undefined && set.failure_reason !== 'CANCELLED' && remove.includes('work_queue');
  return stops ? [...underItsClaim(row), ...asRead<string>({ ...row }, CONTENT)] : underItsClaim(row);
}

interface Claim {
  readonly log_id: string;
  readonly where: string;
  readonly values: readonly unknown[];
}

/**
 * ClaimStore on NotificationLog. Claims and settlements of a batch travel in one BatchExecuteStatement.
 * @param sends settlements wait for those of sends that are under way
 */
export function createClaimStore(
  client: DynamoDBClient,
  table: string,
  clock: Clock,
  sends?: SendsUnderWay,
): ClaimStore {
  const read = createRowReader(client, table);
  const guarded = createGuardedUpdates(client, table, read, {
    wait_ms: SETTLE_WAIT_MS,
    hold: sends && { sends, most_ms: SETTLEMENT_HOLD_MS },
  });

  const claimStatement = (guard: string) =>
    `UPDATE "${table}" SET send_status='SENDING', claim_until=?, claim_id=?, updated_at=?, send_attempts=send_attempts+1, ` +
    `attempts_left=attempts_left-1, last_attempt=last_attempt+1 REMOVE next_retry_at WHERE log_id=? AND ${guard} RETURNING ALL NEW *`;
  const executeClaim = gather<Claim, StatementResult>(
    (claims) =>
      executeStatements(
        client,
        claims.map(({ where, values }) => ({
          Statement: claimStatement(where),
          Parameters: values.map(toValue),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
        })),
      ),
    { max: MAX_STATEMENTS, keyOf: ({ log_id }) => log_id },
  );

  const updateOf = (row: NotificationRow, change: RowChange, guard: Guard): GuardedUpdate => ({
    log_id: row.log_id,
    ...stamped(row, change, { now: clock(), random: Math.random }),
    guard,
  });

  return {
    async claim(message, claim_until, claim_id) {
      const { log_id } = message;
      const where = whereOf(claimable(message));
      const values = [claim_until, claim_id, clock().toISOString(), log_id, ...where.values];
      const result = await executeClaim({ log_id, where: where.text, values });
      if (result.applied && result.item) return { claimed: true, row: toNotificationRow(result.item) };
      // Emulators do not return the item of a failed condition; AWS does.
      const row = result.item ? toNotificationRow(result.item) : await read(log_id);
      if (row === undefined) return { claimed: false };
      return { claimed: row.send_status === 'SENDING' && row.claim_id === claim_id, row };
    },

    read,

    change: (row, change) => {
      const applied = (found: NotificationRow, set: RowChange['set']) => wasApplied(found, { ...change, set });
      return guarded.alone(updateOf(row, change, asPlanned(row)), applied);
    },

    settle: (row, change) =>
      guarded.gathered(updateOf(row, change, settledBy(row, change)), (found) => wasSettled(found, row, change)),
  };
}

/**
 * RecordStore on NotificationRetryLog. A record expires with its row, or two years after its attempt.
 * @param sends records wait a little for those of sends that are under way
 */
export function createRecordStore(client: DynamoDBClient, table: string, sends?: SendsUnderWay): RecordStore {
  const itemOf = (record: RetryRecord) =>
    toItem({ ...record, expires_at: record.expires_at ?? expiresAt(new Date(record.retry_at)) });
  const insert = gather<RetryRecord, boolean>(
    async (records) => {
      const statements = records.map((record) => insertStatement(table, itemOf(record)));
      const results = await inTime(executeStatements(client, statements));
      return results.map((result) => {
        if (result instanceof GatheredError || result.applied) return result instanceof GatheredError ? result : true;
        return result.invalid === undefined ? false : new GatheredError(new Error(result.invalid));
      });
    },
    {
      wait_ms: SETTLE_WAIT_MS,
      keyOf: ({ retry_log_id }) => retry_log_id,
      max: MAX_STATEMENTS,
      hold: sends && { sends, most_ms: RECORD_HOLD_MS },
    },
  );
  const find: RecordStore['find'] = async (log_id, attempt) => {
    const item = await inTime(getItem(client, table, toItem({ original_log_id: log_id, retry_attempt: attempt })));
    return item && toRetryRecord(item);
  };
  return {
    async putIfAbsent(record) {
      if (await insert(record)) return true;
      return isStored(record, await find(record.original_log_id, record.retry_attempt));
    },
    async replace(record, read) {
      const { applied } = await inTime(putGuarded(client, table, itemOf(record), [asRead(read, RECORD_GUARD)]));
      return applied || isStored(record, await find(record.original_log_id, record.retry_attempt));
    },
    find,
  };
}

const inTime = <T>(call: Promise<T>) => withinLimit(call, RECORD_CALL_MS, 'RetryLog');

/** All retry records of a notification, in the order of the attempts. */
export async function readRecords(client: DynamoDBClient, table: string, log_id: string): Promise<RetryRecord[]> {
  const items = await queryAll(client, { table, key: { original_log_id: log_id }, consistent: true });
  return items.map(toRetryRecord);
}

/** Masks addresses in what the records of a notification keep of providers' words: its recipient is another one now. */
export async function maskRecords(client: DynamoDBClient, table: string, log_id: string): Promise<void> {
  const { replace } = createRecordStore(client, table);
  for (const record of await readRecords(client, table, log_id)) {
    const masked = maskedWords(record);
    if (Object.keys(masked).length > 0) await replace({ ...record, ...masked }, record);
  }
}
