import {
  BatchExecuteStatementCommand,
  type BatchStatementRequest,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import type { NotificationRow } from '../../../core/model/notification.ts';
import type { Guard } from '../../../core/model/row-change.ts';
import { GatheredError, type GatherOptions, gather } from '../../batching/gather.ts';
import { type Item, toNotificationRow, toValue } from './item.ts';
import { incomplete, pause, ROUNDS } from './reads.ts';
import { type ItemChange, type StatementResult, updateItem } from './writes.ts';

/** Most statements per call. */
export const MAX_STATEMENTS = 25;

/** Error codes of a single statement that another round may not meet again. */
const RETRYABLE = new Set([
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
  'RequestLimitExceeded',
  'TransactionConflict',
  'InternalServerError',
]);

/** The condition of an update, and the one that every INSERT has: that there is no such item. */
const UNMET = new Set(['ConditionalCheckFailed', 'DuplicateItem']);

/** What BatchStatementError and single calls call it. */
const INVALID = new Set(['ValidationError', 'ValidationException']);

/**
 * Runs conditional updates and inserts in one call. A condition that does not hold is a result, not an error; a call that
 * fails is the error of the statements that were open, and leaves what an earlier round has applied of the batch.
 */
export async function executeStatements(
  client: DynamoDBClient,
  statements: readonly BatchStatementRequest[],
): Promise<(StatementResult | GatheredError)[]> {
  const results: (StatementResult | GatheredError)[] = new Array(statements.length);
  let open = statements.map((statement, index) => ({ statement, index }));
  for (let round = 1; open.length > 0; round++) {
    const call = new BatchExecuteStatementCommand({ Statements: open.map(({ statement }) => statement) });
    const answer = await client.send(call).catch((error: unknown) => new GatheredError(error));
    if (answer instanceof GatheredError) {
      for (const { index } of open) results[index] = answer;
      break;
    }
    const { Responses = [] } = answer;
    if (Responses.length !== open.length) {
      const lacking = new GatheredError(incomplete('Responses'));
      for (const { index } of open) results[index] = lacking;
      break;
    }
    const again: typeof open = [];
    open.forEach((entry, i) => {
      const { Error: fault, Item: item } = Responses[i] ?? {};
      const found = fault?.Item ?? item;
      if (fault === undefined) results[entry.index] = { applied: true, ...(found && { item: found }) };
      else if (UNMET.has(fault.Code ?? '')) results[entry.index] = { applied: false, ...(found && { item: found }) };
      else if (INVALID.has(fault.Code ?? ''))
        results[entry.index] = {
          applied: false,
          invalid: `DynamoDB refused a statement: ${fault.Code}: ${fault.Message}`,
        };
      else if (RETRYABLE.has(fault.Code ?? '') && round < ROUNDS) again.push(entry);
      else
        results[entry.index] = new GatheredError(
          new Error(`DynamoDB refused a statement: ${fault.Code}: ${fault.Message}`),
        );
    });
    open = again;
    if (open.length > 0) await pause(round);
  }
  return results;
}

export function insertStatement(table: string, item: Item): BatchStatementRequest {
  const columns = Object.keys(item).map((name) => `'${name}': ?`);
  return { Statement: `INSERT INTO "${table}" VALUE {${columns.join(', ')}}`, Parameters: Object.values(item) };
}

/** A change to a row of NotificationLog that is made only while its guard holds. */
export interface GuardedUpdate extends Pick<ItemChange, 'remove'> {
  readonly log_id: string;
  readonly set: NonNullable<ItemChange['set']>;
  readonly guard: Guard;
}

type WasApplied = (row: NotificationRow, set: GuardedUpdate['set']) => boolean;

export interface GuardedUpdates {
  /** @param wasApplied whether the row shows this update: the client repeats a write whose answer was lost */
  gathered(update: GuardedUpdate, wasApplied: WasApplied): Promise<boolean>;
  /** The same with an UpdateItem of its own. */
  alone(update: GuardedUpdate, wasApplied: WasApplied): Promise<boolean>;
}

/**
 * Makes guarded updates; each answers whether its row was as expected. Updates that are asked for at the same
 * moment share one BatchExecuteStatement of up to 25, except those that PartiQL's dialects do not agree on.
 */
export function createGuardedUpdates(
  client: DynamoDBClient,
  table: string,
  read: (log_id: string) => Promise<NotificationRow | undefined>,
  when: Pick<GatherOptions<unknown>, 'wait_ms' | 'hold'> = {},
): GuardedUpdates {
  const execute = gather<GuardedUpdate, StatementResult>(
    (updates) =>
      executeStatements(
        client,
        updates.map((update) => statementOf(table, update)),
      ),
    { ...when, max: MAX_STATEMENTS, keyOf: ({ log_id }) => log_id },
  );
  /** Emulators do not return the item of a failed condition; AWS does. */
  const found = async (log_id: string, item: Item | undefined) => (item ? toNotificationRow(item) : read(log_id));
  const alone: GuardedUpdates['gathered'] = async (update, wasApplied) => {
    const { applied, item } = await updateGuarded(client, table, update);
    if (applied) return true;
    const row = await found(update.log_id, item);
    return row !== undefined && wasApplied(row, update.set);
  };
  return {
    alone,
    async gathered(update, wasApplied) {
      if (!fitsStatement(update)) return alone(update, wasApplied);
      const result = await execute(update);
      if (result.applied) return true;
      if (result.invalid !== undefined) throw new Error(result.invalid);
      const row = await found(update.log_id, result.item);
      return row !== undefined && wasApplied(row, update.set);
    },
  };
}

/** Makes one guarded update with an UpdateItem of its own. */
export function updateGuarded(
  client: DynamoDBClient,
  table: string,
  { log_id, guard, ...change }: GuardedUpdate,
): Promise<StatementResult> {
  return updateItem(client, table, { log_id: { S: log_id } }, change, [guard]);
}

/** All PartiQL dialects agree on one removed attribute per statement, and on conditions on attributes that exist. */
function fitsStatement({ remove = [], guard }: GuardedUpdate): boolean {
  return remove.length <= 1 && guard.every(([, is, value]) => is === '=' && value !== undefined);
}

function statementOf(table: string, { log_id, set, remove = [], guard }: GuardedUpdate) {
  const assigned = Object.entries(set).filter(([, value]) => value !== undefined);
  const where = whereOf(guard);
  const Statement =
    `UPDATE "${table}" SET ${assigned.map(([column]) => `${column}=?`).join(', ')} ` +
    remove.map((column) => `REMOVE ${column} `).join('') +
    `WHERE log_id=? AND ${where.text}`;
  const values = [...assigned.map(([, value]) => value), log_id, ...where.values];
  return { Statement, Parameters: values.map(toValue), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const };
}

/** A guard whose columns all exist, in PartiQL. */
export function whereOf(guard: Guard): { readonly text: string; readonly values: readonly unknown[] } {
  const terms = guard.map(([column, is]) => (is === 'begins_with' ? `begins_with(${column}, ?)` : `${column}${is}?`));
  return { text: terms.join(' AND '), values: guard.map(([, , value]) => value) };
}
