import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { ClaimStore } from '../../../core/delivery/ports.ts';
import { type NotificationRow, UPDATED_BY } from '../../../core/model/notification.ts';
import { type RowChange, wasApplied, wasSettled } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import { gather, SETTLE_WAIT_MS, SETTLEMENT_HOLD_MS, type SendsUnderWay } from '../../batching/gather.ts';
import { executeStatements, MAX_STATEMENTS, type StatementResult } from '../table/batch.ts';
import { createGuardedUpdates, type GuardedUpdate, whereOf } from '../table/guarded-update.ts';
import { asPlanned, claimable, type Guard, heldBy } from '../table/guards.ts';
import { toNotificationRow, toValue } from '../table/item.ts';
import { createRowReader } from '../table/read-item.ts';

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

  const updateOf = ({ log_id }: NotificationRow, { set, remove = [] }: RowChange, guard: Guard): GuardedUpdate => ({
    log_id,
    set: { ...set, updated_at: clock().toISOString(), updated_by: UPDATED_BY },
    remove,
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
      guarded.gathered(updateOf(row, change, heldBy(row)), (found) => wasSettled(found, row, change)),
  };
}
