import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { epochMs } from '../../../core/model/time.ts';
import type { SweepLog, SweepRecord } from '../../../core/sweep/sweep-run.ts';
import { updateItem } from '../table/guarded-update.ts';
import { toItem } from '../table/item.ts';
import { type Query, query } from '../table/reads.ts';

const KIND = 'sweep';
/** The last express run and the last look ahead: one item each, as nobody asks for those before it. */
const EXPRESS = 'express';
const AHEAD = 'ahead';
const KEPT_DAYS = 30;

/** Sweeps among which the last completed one is looked for; operators' runs are recorded, too. */
const LOOKED_BACK = 20;

/** SweepLog on PipelineState. The key begins with the time, so that one query finds the last sweeps. */
export function createSweepLog(client: DynamoDBClient, table: string): SweepLog {
  const note = async (kind: string, started_at: string) => {
    await updateItem(client, table, toItem({ kind, id: 'last' }), { set: { started_at } });
  };
  const noted = async (kind: string) => {
    // The dispatcher may query, and get no item.
    const { items } = await query(client, { table, key: { kind }, consistent: true, limit: 1 });
    return items[0]?.['started_at']?.S;
  };
  return {
    async record({ run_id, started_at, duration_ms, due, dispatched, skipped, complete, everything = false }) {
      const expires_at = Math.ceil(epochMs(started_at) / 1000) + KEPT_DAYS * 86_400;
      await updateItem(client, table, toItem({ kind: KIND, id: `${started_at}#${run_id}` }), {
        set: { run_id, started_at, complete, everything, expires_at },
        add: { duration_ms, due, dispatched, skipped },
      });
    },

    async lastCompleted() {
      const columns = ['started_at', 'complete', 'everything'];
      const { items } = await query(client, { ...sweeps(table, LOOKED_BACK), columns, consistent: true });
      return items.find(({ complete, everything }) => complete?.BOOL && everything?.BOOL)?.['started_at']?.S;
    },

    recordExpress: (started_at) => note(EXPRESS, started_at),
    recordAhead: (started_at) => note(AHEAD, started_at),
    lastExpress: () => noted(EXPRESS),
    lastAhead: () => noted(AHEAD),
  };
}

const sweeps = (table: string, limit: number): Query => ({ table, key: { kind: KIND }, backwards: true, limit });

/** The last sweeps of the dispatcher, newest first. */
export async function lastSweeps(client: DynamoDBClient, table: string, limit: number): Promise<SweepRecord[]> {
  const { items } = await query(client, sweeps(table, limit));
  return items.map((item) => {
    const { run_id, started_at, duration_ms, due, dispatched, skipped, complete } = unmarshall(item) as SweepRecord;
    return { run_id, started_at, duration_ms, due, dispatched, skipped, complete };
  });
}
