import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { ClaimStore } from '../../../core/delivery/ports.ts';
import type { RowChange } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import { workQueueOf } from '../../../core/model/work-index.ts';
import { gather, SETTLE_WAIT_MS } from '../../batching/gather.ts';
import { executeStatements, MAX_STATEMENTS, type StatementResult } from '../table/batch.ts';
import { toNotificationRow, toValue } from '../table/item.ts';
import { createRowReader } from '../table/row-reader.ts';
import { updateExpression } from '../table/update-expression.ts';

interface Statement {
  readonly log_id: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** ClaimStore on NotificationLog. Claims and settlements of a batch travel in one BatchExecuteStatement. */
export function createClaimStore(client: DynamoDBClient, table: string, clock: Clock): ClaimStore {
  const execute = (wait_ms: number) =>
    gather<Statement, StatementResult>(
      (statements) =>
        executeStatements(
          client,
          statements.map(({ text, values }) => ({
            Statement: text,
            Parameters: values.map(toValue),
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
          })),
        ),
      { max: MAX_STATEMENTS, wait_ms, keyOf: ({ log_id }) => log_id },
    );
  const executeClaim = execute(0);
  const executeSettlement = execute(SETTLE_WAIT_MS);

  const read = createRowReader(client, table);

  const claimText =
    `UPDATE "${table}" SET send_status='SENDING', claim_until=?, updated_at=?, send_attempts=send_attempts+1, ` +
    'attempts_left=attempts_left-1, last_attempt=last_attempt+1 REMOVE next_retry_at ' +
    "WHERE log_id=? AND work_queue=? AND work_at=? AND send_status<>'SENDING' AND attempts_left>0 RETURNING ALL NEW *";

  /** The one-row way, for changes that PartiQL's dialects do not agree on; true if the row was as expected. */
  async function updateIf(
    log_id: string,
    change: RowChange,
    expected: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const { expression, names, values } = updateExpression(stamped(change, clock));
    const conditions = Object.entries(expected);
    try {
      await client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: { log_id: { S: log_id } },
          UpdateExpression: expression,
          ConditionExpression: conditions.map(([name]) => `${name} = :was_${name}`).join(' AND '),
          ExpressionAttributeNames: names,
          ExpressionAttributeValues: {
            ...values,
            ...Object.fromEntries(conditions.map(([name, value]) => [`:was_${name}`, toValue(value)])),
          },
        }),
      );
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }

  return {
    async claim({ log_id, priority, due }, claim_until) {
      const values = [claim_until, clock().toISOString(), log_id, workQueueOf('due', priority, log_id), due];
      const result = await executeClaim({ log_id, text: claimText, values });
      if (result.applied && result.item) return { claimed: true, row: toNotificationRow(result.item) };
      // Emulators do not return the item of a failed condition; AWS does.
      const row = result.item ? toNotificationRow(result.item) : await read(log_id);
      return row === undefined ? { claimed: false } : { claimed: false, row };
    },

    read,

    change: (row, change) =>
      updateIf(row.log_id, change, {
        send_status: row.send_status,
        last_attempt: row.last_attempt,
        work_queue: row.work_queue,
        work_at: row.work_at,
      }),

    async settle(row, change) {
      if ((change.remove?.length ?? 0) > 1) {
        return updateIf(row.log_id, change, { send_status: 'SENDING', last_attempt: row.last_attempt });
      }
      const { set, remove = [] } = stamped(change, clock);
      const given = Object.entries(set).filter(([, value]) => value !== undefined);
      const text =
        `UPDATE "${table}" SET ${given.map(([name]) => `${name}=?`).join(', ')} ` +
        remove.map((name) => `REMOVE ${name} `).join('') +
        "WHERE log_id=? AND send_status='SENDING' AND last_attempt=?";
      const values = [...given.map(([, value]) => value), row.log_id, row.last_attempt];
      const result = await executeSettlement({ log_id: row.log_id, text, values });
      return result.applied;
    },
  };
}

function stamped(
  { set, remove }: RowChange,
  clock: Clock,
): { set: Record<string, unknown>; remove?: readonly string[] } {
  return { set: { ...set, updated_at: clock().toISOString() }, ...(remove && { remove }) };
}
