import type { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { successorId } from '../../../src/core/delivery/failover.ts';
import { indexRow } from '../../../src/core/indexing/index-row.ts';
import type { Priority } from '../../../src/core/model/priorities.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { shardsForWriting } from '../../../src/core/model/work/index-shards.ts';
import { hostileRow } from './hostile-rows.ts';
import type { Script } from './provider.ts';

export interface Given {
  readonly log_id: string;
  readonly priority: Priority;
  readonly script: Script;
  /** The row names a fallback. */
  readonly fallback?: boolean;
}

interface Indexer {
  readonly tables: MemoryTables;
  readonly clock: Clock;
}

/** Rows of BATCH-951, half of which share one provider, as the indexer takes them in. */
export async function takeIn(
  given: readonly Given[],
  configured: Parameters<typeof shardsForWriting>[0],
  { tables, clock }: Indexer,
): Promise<void> {
  const shards = await shardsForWriting(configured, tables.shards)();
  for (const { log_id, priority, fallback } of given) {
    const row = {
      log_id,
      tenant_id: `tenant-${log_id.length % 2}`,
      channel: 'webhook',
      priority,
      send_status: 'FAILED',
      send_attempts: 1,
      ...(log_id.length % 2 === 0 && { integration_config_id: 'IC1' }),
      recipient_address: `to ${log_id}`,
      ...(fallback && { fallback_channel: 'email', fallback_recipient: `to ${successorId(log_id)}` }),
      message_body: `words for ${log_id}`,
    };
    tables.log.set(log_id, row);
    await indexRow({ row, sequence: '1' }, { store: tables, shards, policy: DEFAULT_RETRY_POLICY, clock });
  }
}

/** Someone puts a row that breaks a rule into the work index. @param seen whether the stream shows it to the indexer */
export async function putHostile(kind: number, seen: boolean, { tables, clock }: Indexer): Promise<void> {
  const row = hostileRow(kind, clock());
  tables.log.set(row.log_id, { ...row });
  if (seen) await indexRow({ row, sequence: '1' }, { store: tables, policy: DEFAULT_RETRY_POLICY, clock });
}
