import {
  type _Record,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';
import { readLeft, writeWhole } from '../../support/running.ts';

/** Reads one shard in order from a position. Only `commit` moves the position. */
export class ShardReader {
  readonly #client: DynamoDBStreamsClient;
  readonly #streamArn: string;
  readonly shardId: string;
  #position: string | undefined;
  #iterator: string | undefined;

  /** @param position the last handled record; undefined: the beginning of the stream */
  constructor(client: DynamoDBStreamsClient, streamArn: string, shardId: string, position: string | undefined) {
    this.#client = client;
    this.#streamArn = streamArn;
    this.shardId = shardId;
    this.#position = position;
  }

  /** Reads the next records. `closed`: the shard has ended. */
  async read(limit: number): Promise<{ readonly records: readonly _Record[]; readonly closed: boolean }> {
    try {
      this.#iterator ??= await this.#iteratorAt(this.#position);
      const answer = await this.#client.send(new GetRecordsCommand({ ShardIterator: this.#iterator, Limit: limit }));
      this.#iterator = answer.NextShardIterator;
      return { records: answer.Records ?? [], closed: answer.NextShardIterator === undefined };
    } catch (error) {
      // An iterator expires after minutes. The next read gets a new one for the position.
      this.#iterator = undefined;
      if (error instanceof Error && error.name === 'TrimmedDataAccessException') this.#position = undefined;
      throw error;
    }
  }

  /** All up to here is handled. @param rereadRest the next read starts behind it, although later ones were read */
  commit(sequenceNumber: string, rereadRest: boolean): void {
    this.#position = sequenceNumber;
    if (rereadRest) this.#iterator = undefined;
  }

  /** The next read returns the last records again. */
  reread(): void {
    this.#iterator = undefined;
  }

  async #iteratorAt(position: string | undefined): Promise<string | undefined> {
    const answer = await this.#client.send(
      new GetShardIteratorCommand({
        StreamArn: this.#streamArn,
        ShardId: this.shardId,
        ...(position === undefined
          ? { ShardIteratorType: 'TRIM_HORIZON' }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: position }),
      }),
    );
    return answer.ShardIterator;
  }
}

/** The last handled position per shard of a stream. A Map is one, for a runtime whose tables do not survive it. */
export interface Checkpoints {
  get(key: string): string | undefined;
  set(key: string, sequenceNumber: string): unknown;
}

/** The stream's ARN is part of the key, because a table that was created again has a new stream with other numbers. */
export const checkpointKey = (streamArn: string, shardId: string): string => `${streamArn} ${shardId}`;

/**
 * Checkpoints in a file, so that a restarted runtime continues where the last one stopped. A kill between handling a
 * batch and recording it repeats the batch, as Lambda may; no batch is skipped.
 */
export function fileCheckpoints(path: string): Checkpoints {
  const positions = new Map(Object.entries(readLeft<Record<string, string>>(path, {})));
  return {
    get: (key) => positions.get(key),
    set(key, position) {
      positions.set(key, position);
      writeWhole(path, Object.fromEntries(positions));
    },
  };
}
