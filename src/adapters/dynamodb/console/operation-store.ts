import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { epochMs } from '../../../core/model/time.ts';
import type { Operation, OperationStore } from '../../../core/operator/operations/operation.ts';
import type { KeptVerification, VerificationStore } from '../../../core/verify/kept-verification.ts';
import { OPERATION_KIND, VERIFICATION_KIND } from '../schema.ts';
import type { Item } from '../table/item.ts';
import { getItem, query } from '../table/reads.ts';
import { changeVersioned } from '../table/writes.ts';

const KEPT_DAYS = 90;

/** OperationStore on PipelineState. Ids sort by time, so one query lists the newest. */
export function createOperationStore(client: DynamoDBClient, table: string): OperationStore {
  const keyOf = (operation_id: string): Item => ({ kind: { S: OPERATION_KIND }, id: { S: operation_id } });
  const fromItem = (item: Item): Operation => {
    const { kind: _, id, asked_kind, expires_at: __, ...rest } = unmarshall(item);
    return { ...rest, operation_id: id, kind: asked_kind } as Operation;
  };

  async function change(was: Operation, set: Partial<Operation>, remove: readonly (keyof Operation)[], more = {}) {
    // The table's key is called `kind`, too; its other key is the operation_id.
    const { kind, operation_id: _, version: __, ...rest } = set;
    return changeVersioned<Operation>(client, {
      table,
      key: keyOf(was.operation_id),
      was,
      change: { set: { ...rest }, remove },
      stored: { set: { ...rest, ...more, ...(kind !== undefined && { asked_kind: kind }) }, remove },
      fromItem,
    });
  }

  async function read(operation_id: string): Promise<Operation | undefined> {
    const item = await getItem(client, table, keyOf(operation_id));
    return item && fromItem(item);
  }

  return {
    read,

    async create(operation) {
      const expires_at = Math.ceil(epochMs(operation.created_at) / 1000) + KEPT_DAYS * 86_400;
      const created = await change(operation, operation, [], { expires_at });
      return created ?? (await read(operation.operation_id)) ?? operation;
    },

    change: (was, { set, remove = [] }) => change(was, set, remove),

    async list({ limit, before }) {
      const range = before === undefined ? undefined : (['id', '<', before] as const);
      const { items } = await query(client, { table, key: { kind: OPERATION_KIND }, range, backwards: true, limit });
      return items.map(fromItem);
    },
  };
}

/** VerificationStore on PipelineState: the stage has one verification. */
export function createVerificationStore(client: DynamoDBClient, table: string): VerificationStore {
  const key: Item = { kind: { S: VERIFICATION_KIND }, id: { S: 'latest' } };
  const fromItem = (item: Item): KeptVerification => {
    const { kind: _, id: __, ...kept } = unmarshall(item);
    return kept as KeptVerification;
  };
  return {
    async read() {
      const item = await getItem(client, table, key);
      return item && fromItem(item);
    },
    change: (was, change) =>
      changeVersioned<KeptVerification>(client, {
        table,
        key,
        change,
        fromItem,
        was: was ?? ({ version: 0 } as KeptVerification),
      }),
  };
}
