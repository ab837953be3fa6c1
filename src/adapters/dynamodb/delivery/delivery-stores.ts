import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CONTENT_CALL_MS, RECORD_CALL_MS } from '../../../core/delivery/policy/attempt-times.ts';
import {
  type ClaimStore,
  type ContentStore,
  ContentUnreadableError,
  type RecordStore,
} from '../../../core/delivery/ports.ts';
import { isStored, RECORD_GUARD } from '../../../core/delivery/retry-record.ts';
import {
  type MessageFormat,
  type NotificationContent,
  type NotificationRow,
  type RetryRecord,
  SEALED,
} from '../../../core/model/notification.ts';
import {
  asPlanned,
  asRead,
  claimable,
  type Guard,
  type RowChange,
  settledBy,
  stamped,
  wasApplied,
  wasSettled,
} from '../../../core/model/row-change.ts';
import { maskedWords } from '../../../core/model/text.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import {
  GatheredError,
  gather,
  RECORD_HOLD_MS,
  SETTLE_WAIT_MS,
  SETTLEMENT_HOLD_MS,
  type SendsUnderWay,
  withinLimit,
} from '../../batching/gather.ts';
import { type Sealer, SealRefusedError } from '../../sealing/sealer.ts';
import { type Item, toItem, toNotificationRow, toRetryRecord, toValue } from '../table/item.ts';
import { createRowReader, getItem, itemReader, queryAll, readItem } from '../table/reads.ts';
import {
  createGuardedUpdates,
  executeStatements,
  type GuardedUpdate,
  insertStatement,
  MAX_STATEMENTS,
  whereOf,
} from '../table/statements.ts';
import { putGuarded, type StatementResult, updateItem } from '../table/writes.ts';

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

/** Row and content are stored with the same end. */
const DAY_SECONDS = 86_400;

/** ContentStore on NotificationContent. The stored recipient is encrypted and bound to its tenant and log_id. */
export function createContentStore(client: DynamoDBClient, table: string, sealer: Sealer): ContentStore {
  const get = itemReader(client, table, { consistent: false });
  async function read(owner: Parameters<ContentStore['read']>[0]): Promise<NotificationContent> {
    const found = await get(owner.log_id);
    // The cheaper, eventually consistent read may not see content that was written a moment ago, but that of a life before.
    const isOfThisLife = found !== undefined && Number(found['life']?.N ?? 0) === (owner.life ?? 0);
    const item = isOfThisLife ? found : await readItem(client, table, owner.log_id);
    const recipient = item?.['encrypted_recipient']?.S;
    const body = bodyOf(item);
    if (recipient === undefined || body === undefined) {
      throw new ContentUnreadableError('NotificationContent has no recipient or body for this notification.');
    }
    const { log_id, expires_at = 0 } = owner;
    // A redrive near the end has extended the row. The send needs no success of it: the next attempt tries again.
    if (expires_at - Number(item?.['expires_at']?.N ?? expires_at) > DAY_SECONDS)
      await updateItem(client, table, { log_id: { S: log_id } }, { set: { expires_at } }, [
        [['expires_at', '<', expires_at]],
      ]).catch(() => {});
    return {
      recipient: await open(sealer, owner, recipient),
      body,
      format: (item?.['message_format']?.S ?? 'PLAIN') as MessageFormat,
      ...(item?.['subject']?.S && { subject: item['subject'].S }),
    };
  }

  return { read: (owner) => withinLimit(read(owner), CONTENT_CALL_MS, 'NotificationContent or the key service') };
}

async function open(
  sealer: Sealer,
  { tenant_id, log_id }: Pick<NotificationRow, 'tenant_id' | 'log_id'>,
  sealed: string,
): Promise<string> {
  try {
    return await sealer.open({ tenant_id, purpose: SEALED.recipients, id: log_id }, sealed);
  } catch (cause) {
    if (cause instanceof SealRefusedError) throw new ContentUnreadableError(cause.message, { cause });
    throw cause;
  }
}

/** No stored body is larger: an item of DynamoDB has at most 400 KB, and each body came from an item. */
const MAX_BODY_BYTES = 1024 * 1024;

function bodyOf(item: Item | undefined): string | undefined {
  const deflated = item?.['message_body_deflated']?.B;
  if (deflated === undefined) return item?.['message_body']?.S;
  return process.getBuiltinModule('node:zlib').inflateRawSync(deflated, { maxOutputLength: MAX_BODY_BYTES }).toString();
}

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
