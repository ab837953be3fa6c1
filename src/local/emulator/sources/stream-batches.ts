import type { _Record, AttributeValue as StreamValue } from '@aws-sdk/client-dynamodb-streams';
import { type Json, type JsonObject, objectAt } from '../../support/json.ts';
import type { Log } from '../../support/running.ts';
import { pause } from '../../support/running.ts';
import { matchesAny } from '../events/event-filter.ts';
import type { Invoke } from '../lambda/invocation.ts';
import type { StreamMappingPlan } from '../template/event-sources.ts';
import { LOCAL_REGION } from '../template/references.ts';
import { failedItems } from './batch-response.ts';
import type { ShardReader } from './stream-shard.ts';
import { type Checkpoints, checkpointKey } from './stream-shard.ts';

/** Most records that one GetRecords call returns. */
const MAX_READ = 1000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

export interface StreamBatchOptions {
  readonly mapping: StreamMappingPlan;
  readonly streamArn: string;
  readonly checkpoints: Checkpoints;
  readonly invoke: Invoke;
  readonly log: Log;
  /** Takes the JSON that describes a batch whose retries are used up. */
  readonly giveUp: (message: string) => Promise<void>;
}

/** Gives a shard's records to the function in batches, each until it succeeds or has no retries left. */
export class StreamBatches {
  readonly #reader: ShardReader;
  readonly #options: StreamBatchOptions;
  #limit: number;
  /** Failed invocations of the batch at the current position. */
  #failures = 0;

  constructor(reader: ShardReader, options: StreamBatchOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#limit = this.#fullBatch;
  }

  get #fullBatch(): number {
    return Math.min(MAX_READ, this.#options.mapping.batchSize);
  }

  /** Handles the next batch. `busy`: it had records; `idle`: no new records; `closed`: the shard has ended. */
  async next(signal: AbortSignal): Promise<'busy' | 'idle' | 'closed'> {
    const { mapping, streamArn } = this.#options;
    const { records, closed } = await this.#reader.read(this.#limit);
    if (records.length === 0) return closed ? 'closed' : 'idle';
    const all = records.map((record) => streamRecord(record, streamArn, LOCAL_REGION));
    const wanted = all.filter((record) => matchesAny(mapping.filters, record));
    const failedAt = wanted.length === 0 ? undefined : await this.#invoke(wanted);
    if (failedAt === undefined) {
      this.#done(all);
      return 'busy';
    }
    const before = all.slice(
      0,
      all.findIndex((record) => sequenceNumber(record) === failedAt),
    );
    await this.#failed(all, before, wanted, signal);
    return 'busy';
  }

  /** @returns the sequence number of the first failed record; undefined when none failed */
  async #invoke(wanted: readonly JsonObject[]): Promise<string | undefined> {
    const { mapping, invoke, log } = this.#options;
    const [first] = wanted.map(sequenceNumber);
    const outcome = await invoke(JSON.stringify({ Records: wanted }));
    if (!outcome.ok) {
      log(`${mapping.functionName}: ${outcome.error.errorType}: ${outcome.error.errorMessage}`);
      return first;
    }
    if (!mapping.reportsBatchItemFailures) return undefined;
    const failed = failedItems(outcome.result, new Set(wanted.map(sequenceNumber)));
    return failed === 'all' ? first : wanted.map(sequenceNumber).find((number) => failed.has(number));
  }

  async #failed(
    all: readonly JsonObject[],
    before: readonly JsonObject[],
    wanted: readonly JsonObject[],
    signal: AbortSignal,
  ): Promise<void> {
    const { mapping } = this.#options;
    const last = before.at(-1);
    if (last !== undefined) {
      this.#failures = 0;
      this.#commit(last, true);
    } else if (mapping.bisectBatchOnFunctionError && wanted.length > 1) {
      this.#limit = Math.ceil(all.length / 2);
      this.#reader.reread();
      return;
    }
    this.#failures += 1;
    if (mapping.maximumRetryAttempts >= 0 && this.#failures > mapping.maximumRetryAttempts) {
      const rest = all.slice(before.length);
      await this.#options.giveUp(this.#notice(rest));
      this.#done(rest);
      return;
    }
    this.#reader.reread();
    await pause(Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1)), signal);
  }

  #done(records: readonly JsonObject[]): void {
    const last = records.at(-1);
    if (last !== undefined) this.#commit(last, false);
    this.#failures = 0;
    this.#limit = this.#fullBatch;
  }

  #commit(record: JsonObject, rereadRest: boolean): void {
    const position = sequenceNumber(record);
    this.#reader.commit(position, rereadRest);
    this.#options.checkpoints.set(checkpointKey(this.#options.streamArn, this.#reader.shardId), position);
  }

  /** Lambda's message to an on-failure destination. It names the records' position, but does not contain them. */
  #notice(records: readonly JsonObject[]): string {
    const [first, last] = [records[0], records.at(-1)];
    return JSON.stringify({
      requestContext: {
        functionArn: this.#options.mapping.functionName,
        condition: 'RetryAttemptsExhausted',
        approximateInvokeCount: this.#failures,
      },
      version: '1.0',
      timestamp: new Date().toISOString(),
      DDBStreamBatchInfo: {
        shardId: this.#reader.shardId,
        startSequenceNumber: first === undefined ? undefined : sequenceNumber(first),
        endSequenceNumber: last === undefined ? undefined : sequenceNumber(last),
        batchSize: records.length,
        streamArn: this.#options.streamArn,
      },
    });
  }
}

/** A stream record as Lambda passes it to a function: binary values in base64, times in epoch seconds. */
export function streamRecord(record: _Record, streamArn: string, awsRegion: string): JsonObject {
  const change = record.dynamodb ?? {};
  const images: Record<string, Json> = {};
  for (const name of ['Keys', 'NewImage', 'OldImage'] as const) {
    const image = change[name];
    if (image !== undefined) images[name] = plain(image);
  }
  return {
    eventID: record.eventID ?? '',
    eventName: record.eventName ?? '',
    eventVersion: record.eventVersion ?? '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion,
    dynamodb: {
      ApproximateCreationDateTime: Math.floor((change.ApproximateCreationDateTime?.getTime() ?? 0) / 1000),
      ...images,
      SequenceNumber: change.SequenceNumber ?? '',
      SizeBytes: change.SizeBytes ?? 0,
      StreamViewType: change.StreamViewType ?? '',
    },
    eventSourceARN: streamArn,
  };
}

function sequenceNumber(record: JsonObject): string {
  return String(objectAt(record['dynamodb'], 'stream record')['SequenceNumber']);
}

function plain(image: Record<string, StreamValue>): Json {
  const text = JSON.stringify(image, (_, value: unknown) =>
    isBytes(value) ? Buffer.from(Object.values(value)).toString('base64') : value,
  );
  return JSON.parse(text);
}

/** JSON.stringify calls toJSON of a Buffer before it gets here; a plain Uint8Array has none. */
const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array;
