import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Channel } from '../../../core/model/channels.ts';
import { epochMs } from '../../../core/model/time.ts';
import type { DueIndex } from '../../../core/model/work-index.ts';
import { readEntries } from '../../../core/model/work-rules.ts';
import type { SweepLog, SweepRecord } from '../../../core/sweep/sweep-run.ts';
import { WORK_INDEX } from '../schema.ts';
import { type Item, toItem } from '../table/item.ts';
import { type Query, query } from '../table/reads.ts';
import { updateItem } from '../table/writes.ts';

/**
 * DueIndex on NotificationLog's work index.
 * @param shards partitions per state and priority: as many as the stage ever had
 * @param channels those of the stage: what has been due on others for a day counts as malformed
 */
export function createDueIndex(
  client: DynamoDBClient,
  table: string,
  shards: () => Promise<number>,
  channels?: readonly Channel[],
): DueIndex {
  return {
    shards,

    async page(work_queue, { until, limit, from, after, channels: only }) {
      const { items, next } = await query(client, {
        table,
        index: WORK_INDEX,
        key: { work_queue },
        limit,
        after,
        // Without a lower bound: another writer's work_at may be below any time.
        range: from === undefined ? ['work_at', '<=', until] : ['work_at', 'between', from, until],
        only: only && ['channel', 'in', only],
      });
      return { ...readEntries(work_queue, items.map(toEntry), until, channels), ...(next && { next }) };
    },
  };
}

/** Reads the attributes without unmarshall: all are text, and the dispatcher reads thousands of items. */
function toEntry(item: Item): Record<string, string | undefined> {
  return {
    log_id: item['log_id']?.S,
    tenant_id: item['tenant_id']?.S,
    channel: item['channel']?.S,
    priority: item['priority']?.S,
    work_at: item['work_at']?.S,
    ...(item['queued_for']?.S !== undefined && { queued_for: item['queued_for'].S }),
  };
}

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
