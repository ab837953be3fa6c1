import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DescribeStreamCommand, type DynamoDBStreamsClient, type Shard } from '@aws-sdk/client-dynamodb-streams';
import type { Log } from '../../support/running.ts';
import { pause } from '../../support/running.ts';
import type { StreamMappingPlan } from '../template/event-sources.ts';
import { StreamBatches, type StreamBatchOptions } from './stream-batches.ts';
import { type Checkpoints, checkpointKey, ShardReader } from './stream-shard.ts';

const DISCOVER_MS = 10_000;
const AFTER_ERROR_MS = 500;

export interface StreamEventSourceOptions extends Omit<StreamBatchOptions, 'streamArn'> {
  readonly dynamodb: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  readonly mapping: StreamMappingPlan;
  readonly checkpoints: Checkpoints;
  readonly log: Log;
  /** Between two looks at a stream without new records; Lambda's own unless given. */
  readonly pollMs?: number;
}

/** Lambda polls a stream four times a second. */
const POLL_MS = 250;

/** Gives a table's stream to a function as Lambda does: in order, filtered, after the last record that succeeded. */
export class StreamEventSource {
  readonly #options: StreamEventSourceOptions;
  readonly #stopping = new AbortController();
  readonly #readers = new Map<string, StreamBatches>();
  readonly #closed = new Set<string>();
  readonly #waiting = new Set<{ readonly since: number; readonly resolve: () => void }>();
  #discoveredAt = Number.NEGATIVE_INFINITY;
  #passes = 0;
  readonly #running: Promise<void>;

  constructor(options: StreamEventSourceOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Waits until what was written before is handled. @returns false when that takes longer than `timeoutMs` */
  async caughtUp(timeoutMs: number): Promise<boolean> {
    // The running pass may have read before the write. Only a pass that starts after this call is proof.
    const since = this.#passes + 1;
    return new Promise((resolve) => {
      const entry = { since, resolve: () => done(true) };
      const done = (caughtUp: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(entry);
        resolve(caughtUp);
      };
      const timer = setTimeout(() => done(false), timeoutMs);
      this.#waiting.add(entry);
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const signal = this.#stopping.signal;
    while (!signal.aborted) {
      const pass = ++this.#passes;
      try {
        await this.#discover();
        const busy = await this.#readAll(signal);
        if (!busy) this.#settleWaiting(pass);
        if (!busy) await pause(this.#options.pollMs ?? POLL_MS, signal);
      } catch (error) {
        const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        this.#options.log(`stream of ${this.#options.mapping.tableName}: ${why}`);
        await pause(AFTER_ERROR_MS, signal);
      }
    }
  }

  /** @returns whether a shard had records, in which case more may follow */
  async #readAll(signal: AbortSignal): Promise<boolean> {
    let busy = false;
    for (const [shardId, batches] of this.#readers) {
      const state = await batches.next(signal);
      if (state === 'busy') busy = true;
      if (state === 'closed') {
        this.#readers.delete(shardId);
        this.#closed.add(shardId);
        this.#discoveredAt = Number.NEGATIVE_INFINITY;
        // The shard's children may already hold records.
        busy = true;
      }
    }
    return busy;
  }

  #settleWaiting(pass: number): void {
    for (const entry of this.#waiting) if (pass >= entry.since) entry.resolve();
  }

  async #discover(): Promise<void> {
    if (this.#readers.size > 0 && performance.now() - this.#discoveredAt < DISCOVER_MS) return;
    const { dynamodb, streams, mapping, checkpoints } = this.#options;
    const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName: mapping.tableName }));
    const streamArn = Table?.LatestStreamArn;
    if (streamArn === undefined) throw new Error(`the table ${mapping.tableName} has no stream`);
    const shards = await allShards(streams, streamArn);
    const unread = new Set(
      shards.map((shard) => shard.ShardId).filter((id) => id !== undefined && !this.#closed.has(id)),
    );
    for (const { ShardId, ParentShardId } of shards) {
      if (ShardId === undefined || !unread.has(ShardId) || this.#readers.has(ShardId)) continue;
      // The order of records holds across a split only if the parent shard is read to its end first.
      if (ParentShardId !== undefined && unread.has(ParentShardId)) continue;
      const reader = new ShardReader(streams, streamArn, ShardId, checkpoints.get(checkpointKey(streamArn, ShardId)));
      this.#readers.set(ShardId, new StreamBatches(reader, { ...this.#options, streamArn }));
    }
    this.#discoveredAt = performance.now();
  }
}

async function allShards(client: DynamoDBStreamsClient, StreamArn: string): Promise<Shard[]> {
  const shards: Shard[] = [];
  let ExclusiveStartShardId: string | undefined;
  do {
    const { StreamDescription } = await client.send(
      new DescribeStreamCommand({
        StreamArn,
        ...(ExclusiveStartShardId === undefined ? {} : { ExclusiveStartShardId }),
      }),
    );
    shards.push(...(StreamDescription?.Shards ?? []));
    ExclusiveStartShardId = StreamDescription?.LastEvaluatedShardId;
  } while (ExclusiveStartShardId !== undefined);
  return shards;
}
