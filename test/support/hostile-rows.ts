import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { toForeignRow } from '../../src/adapters/dynamodb/table/item.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import { HARMLESS, HOSTILE_VALUES, type HostileValue } from './hostile-values.ts';

/** Columns that only readers meet, beside those of the table document and of the pipeline. */
const COLUMNS = [
  ...Object.keys(HARMLESS),
  ...['claim_id', 'opened_at', 'bounced_at', 'complained_at', 'dead_run_id', 'replay_id', 'recipient_hash'],
  ...['predecessor_log_id', 'tenant_created_at'],
];
/** The table refuses them as keys of an index. */
const KEYS: readonly string[] = ['work_at', 'tenant_created_at'];

const SHORT = (Object.keys(HOSTILE_VALUES) as HostileValue[]).filter((name) => name !== 'text of almost 400 KB');

/** A row per column and hostile value, which differs from a good one in this column alone. */
export function hostileColumns(
  prefix: string,
  base: (log_id: string) => ForeignRow,
  values: readonly HostileValue[] = SHORT,
): ForeignRow[] {
  return COLUMNS.flatMap((column, c) =>
    values.flatMap((value, v) => {
      const attribute: AttributeValue = HOSTILE_VALUES[value];
      if (KEYS.includes(column) && !attribute.S) return [];
      return [{ ...base(`${prefix}-${c}-${v}`), ...toForeignRow({ [column]: attribute }) }];
    }),
  );
}
