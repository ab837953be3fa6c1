import {
  type _Record,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';

/** Reads one shard in order from a position; the position moves only with `commit`. */
export class ShardReader {
  readonly #client: DynamoDBStreamsClient;
  readonly #streamArn: string;
  readonly shardId: string;
  #position: string | undefined;
  #iterator: string | undefined;

  /** @param position the last record that is done; undefined: from the stream's beginning. */
  constructor(client: DynamoDBStreamsClient, streamArn: string, shardId: string, position: string | undefined) {
    this.#client = client;
    this.#streamArn = streamArn;
    this.shardId = shardId;
    this.#position = position;
  }

  /** The next records; `closed` when the shard will never have more. */
  async read(limit: number): Promise<{ readonly records: readonly _Record[]; readonly closed: boolean }> {
    try {
      this.#iterator ??= await this.#iteratorAt(this.#position);
      const answer = await this.#client.send(new GetRecordsCommand({ ShardIterator: this.#iterator, Limit: limit }));
      this.#iterator = answer.NextShardIterator;
      return { records: answer.Records ?? [], closed: answer.NextShardIterator === undefined };
    } catch (error) {
      // An iterator lives for minutes: the next read takes a new one from the position.
      this.#iterator = undefined;
      if (error instanceof Error && error.name === 'TrimmedDataAccessException') this.#position = undefined;
      throw error;
    }
  }

  /** Everything up to this record is done; the next read goes on behind it, also when more had been read. */
  commit(sequenceNumber: string, rereadRest: boolean): void {
    this.#position = sequenceNumber;
    if (rereadRest) this.#iterator = undefined;
  }

  /** Nothing of what was read last is done. */
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
