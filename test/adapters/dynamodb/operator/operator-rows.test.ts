import {
  type DynamoDBClient,
  TransactionConflictException,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createOperatorRows } from '../../../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { updateItem } from '../../../../src/adapters/dynamodb/table/writes.ts';
import type { RowStore } from '../../../../src/core/delivery/ports.ts';
import type { RowChange } from '../../../../src/core/model/row-change.ts';
import { isThere } from '../../../../src/core/model/row-change.ts';
import { deadRow, type Operations, startOperations, stoppedRow, storedRow } from '../../../support/cli/operations.ts';
import { availableEngines } from '../../../support/dynamodb.ts';

it('an update asks for the item of a failed condition only where it has one', async () => {
  const inputs: UpdateItemCommandInput[] = [];
  const send = async ({ input }: { readonly input: UpdateItemCommandInput }) => void inputs.push(input);
  const client = { send: (command: never) => send(command).then(() => ({})) } as unknown as DynamoDBClient;
  for (const guards of [[], [isThere('a')]]) await updateItem(client, 't', {}, { set: { a: 1 } }, guards);
  expect(inputs.map((input) => input.ReturnValuesOnConditionCheckFailure)).toEqual([undefined, 'ALL_OLD']);
});

it.each([
  [3, 4, { applied: true }],
  [4, 4, expect.any(TransactionConflictException)],
])('an update that meets %d transactions in turn is tried %d times', async (conflicts, tries, expected) => {
  vi.useFakeTimers();
  let sent = 0;
  const send = async () => {
    if (++sent <= conflicts) throw new TransactionConflictException({ message: 'conflict', $metadata: {} });
    return {};
  };
  const client = { send } as unknown as DynamoDBClient;
  const result = updateItem(client, 't', {}, { set: { a: 1 } }, [isThere('a')]).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await result).toEqual(expected);
  expect(sent).toBe(tries);
  vi.useRealTimers();
});

describe.each(availableEngines())('rows as operators change them, on %s', (engine) => {
  let ops: Operations;
  let rows: RowStore;
  /** Another operator, a moment later: the same change by this one is not a repetition of the first. */
  let laterRows: RowStore;
  beforeAll(async () => {
    ops = await startOperations(engine);
    rows = createOperatorRows(ops.dynamodb, ops.tables.notification_log, () => new Date('2026-03-01T00:00:00.000Z'));
    laterRows = createOperatorRows(
      ops.dynamodb,
      ops.tables.notification_log,
      () => new Date('2026-03-01T00:00:00.001Z'),
    );
  }, 120_000);
  afterAll(() => ops?.stop());

  const { attempts_left: _left, last_attempt: _last, ...unattempted } = storedRow('k-unattempted');
  const kinds = [
    ['in the index', storedRow('k-due')],
    ['dead', deadRow('k-dead')],
    ['in no index', stoppedRow('k-stopped')],
    ['never attempted', unattempted],
  ] as const;
  const changes: [string, RowChange][] = [
    ['sets attributes', { set: { send_status: 'RETRY', error_message: '失敗 "x"' } }],
    ['sets and removes one', { set: { send_status: 'RETRY' }, remove: ['error_type'] }],
    ['removes several', { set: {}, remove: ['error_type', 'retry_count', 'work_queue'] }],
  ];

  it.each(kinds.flatMap(([kind, row]) => changes.map(([what, change]) => [kind, what, row, change] as const)))(
    'on a row that is %s: %s, once',
    async (_kind, _what, row, change) => {
      await ops.put(row);
      const read = await rows.read(row.log_id);
      if (read === undefined) throw new Error('the row is missing');
      expect(await rows.change(read, change)).toBe(true);
      const after = await ops.row(row.log_id);
      expect(after).toMatchObject({ ...change.set, updated_at: '2026-03-01T00:00:00.000Z' });
      for (const name of change.remove ?? []) expect(after).not.toHaveProperty(name);
      const moved = after['send_status'] !== read.send_status || after['work_queue'] !== read.work_queue;
      if (moved) expect(await laterRows.change(read, change)).toBe(false);
    },
  );

  it.each([
    ['send_status', 'SUCCESS'],
    ['last_attempt', 9],
    ['work_queue', 'due#urgent#0'],
    ['work_at', '2026-03-01T00:00:00.000Z'],
  ])('changes nothing when %s has changed since', async (column, value) => {
    for (const remove of [[], ['error_type', 'retry_count']] as const) {
      const row = deadRow(`g-${column}-${remove.length}`);
      const now = { ...row, [column]: value };
      await ops.put(now);
      expect(await rows.change(row, { set: { send_status: 'RETRY' }, remove })).toBe(false);
      expect(await ops.row(row.log_id)).toEqual(now);
    }
  });

  it('reads and changes many rows at once, each separately', async () => {
    const many = Array.from({ length: 60 }, (_unused, i) => deadRow(`m-${i}`));
    await ops.put(...many.filter((_row, i) => i % 3 !== 0));
    const found = await Promise.all(many.map(({ log_id }) => rows.read(log_id)));
    expect(found.map((row) => row?.log_id)).toEqual(many.map(({ log_id }, i) => (i % 3 === 0 ? undefined : log_id)));
    const changed = await Promise.all(many.map((row) => rows.change(row, { set: { send_status: 'RETRY' } })));
    expect(changed).toEqual(many.map((_row, i) => i % 3 !== 0));
  });
});
