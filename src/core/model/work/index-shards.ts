/** Over how many partitions the indexes of NotificationLog are spread. A partition takes 1,000 writes per second. */
export interface IndexShards {
  /** Partitions per state and priority of the work index, and per notification of the notification index. */
  readonly work: number;
  /** Partitions per day of the history index. */
  readonly history: number;
}

/** What every stage has, and what every reader reads. Rows are stored under these numbers, so they never change. */
export const BASE_SHARDS: IndexShards = { work: 8, history: 4 };
/** A sweep that finds nothing pays half a read unit per partition, so there is an end to them. */
export const MOST_SHARDS = 64;

/** The largest numbers that a stage ever had. They only grow. */
export interface ShardMark {
  read(): Promise<IndexShards>;
  /** Raises what is smaller. @returns the numbers then */
  raise(to: IndexShards): Promise<IndexShards>;
}

function largest(a: IndexShards, b: IndexShards): IndexShards {
  return { work: Math.max(a.work, b.work), history: Math.max(a.history, b.history) };
}

/**
 * The partitions that a reader reads.
 * @param configured what is known without the mark, and suffices while the mark cannot be reached
 */
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
