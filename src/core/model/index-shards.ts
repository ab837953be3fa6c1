import { type Configured, type NamedSettings, standardsOf } from './setting.ts';

/** A sweep that finds nothing pays half a read unit per partition, so there is an end to them. */
export const MOST_SHARDS = 64;

/**
 * Over how many partitions the indexes of NotificationLog are spread. A partition takes 1,000 writes per second. Every
 * reader reads what the stage has unless it sets more, and rows are stored under these numbers, so they never change.
 */
export const INDEX_SHARD_SETTINGS = {
  /**
   * Partitions of the [indexes](docs/decisions/delivery/storage-layout.md#0138) per state and priority, and per
   * notification, each for 1,000 new rows per second. Existing rows stay where they are.
   * @ja [インデックス](docs/decisions/delivery/storage-layout.md#0138)のパーティション数（状態・優先度ごと、通知ごと）。1 つにつき
   * 毎秒 1,000 件の新しい行を受けられる。既存の行は移動しない
   */
  work: { name: 'work', from: 8, to: MOST_SHARDS, unit: 'partitions', whole: true, standard: 8 },
  /** Partitions of the history index per day. @ja 履歴インデックスの 1 日ごとのパーティション数 */
  history: { name: 'history', from: 4, to: MOST_SHARDS, unit: 'partitions', whole: true, standard: 4 },
} as const satisfies NamedSettings;

export type IndexShards = Configured<typeof INDEX_SHARD_SETTINGS>;

export const BASE_SHARDS: IndexShards = /* @__PURE__ */ standardsOf(INDEX_SHARD_SETTINGS);

/** The largest numbers that a stage ever had. They only grow. */
export interface ShardMark {
  read(): Promise<IndexShards>;
  /** Raises what is smaller. @returns the numbers then */
  raise(to: IndexShards): Promise<IndexShards>;
}

function largest(a: IndexShards, b: IndexShards): IndexShards {
  return { work: Math.max(a.work, b.work), history: Math.max(a.history, b.history) };
}

/** The partitions to read. @param configured suffices while the mark cannot be reached */
export function shardsForReading(configured: IndexShards, mark: Pick<ShardMark, 'read'>): () => Promise<IndexShards> {
  return async () => {
    try {
      return largest(configured, await mark.read());
    } catch {
      return configured;
    }
  };
}

/**
 * The numbers by which a writer spreads new rows: no fewer than the stage ever had. The mark is raised before the first
 * row is written, so that every reader finds it, also after the configuration has become smaller again. While the mark
 * cannot be reached, rows go to the partitions that everyone reads.
 */
export function shardsForWriting(configured: IndexShards, mark: ShardMark): () => Promise<IndexShards> {
  let agreed: Promise<IndexShards> | undefined;
  const agree = async () => {
    const marked = await mark.read();
    const wanted = largest(configured, marked);
    const isMarked = wanted.work === marked.work && wanted.history === marked.history;
    return isMarked ? marked : mark.raise(wanted);
  };
  return async () => {
    agreed ??= agree();
    try {
      return await agreed;
    } catch {
      agreed = undefined;
      return BASE_SHARDS;
    }
  };
}
