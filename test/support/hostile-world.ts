import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { type AttributeValue, type DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBRecord, SQSRecord } from 'aws-lambda';
import { bindChannel, type ChannelPorts, gatheredBudgets } from '../../functions/shared/channel/channel-function.ts';
import { FOREIGN_ROWS } from '../../lib/constructs/indexing/stream-filters.ts';
import { SendsUnderWay } from '../../src/adapters/batching/gather.ts';
import { createBreakerStore } from '../../src/adapters/dynamodb/breaker/breaker-store.ts';
import {
  createClaimStore,
  createContentStore,
  createRecordStore,
} from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createOperatorRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createSuccessorStore } from '../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIndexStore } from '../../src/adapters/dynamodb/indexing/index-store.ts';
import { createPacingStore } from '../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { createDueIndex } from '../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { type Item, toForeignRow } from '../../src/adapters/dynamodb/table/item.ts';
import { sharedBudget } from '../../src/adapters/signing/hashed-ids.ts';
import { malformedEntries } from '../../src/core/delivery/take-over.ts';
import { BASE_SHARDS } from '../../src/core/model/index-shards.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import type { QueuedMessage } from '../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../src/core/model/retry-policy.ts';
import { ReceiverPacer } from '../../src/core/pacing/receiver-pacer.ts';
import { sweep } from '../../src/core/sweep/sweep.ts';
import { matchesAny } from '../../src/local/emulator/events/event-filter.ts';
import { streamRecord } from '../../src/local/emulator/sources/stream-batches.ts';
import type { JsonObject } from '../../src/local/support/json.ts';
import { SETTINGS } from '../../tools/simulation/world/ports.ts';
import type { TestDynamoDb } from './dynamodb.ts';
import { T0, unasked } from './rows.ts';
import { sealerOn } from './sealer.ts';
import { createTables, type TableNames } from './tables.ts';

const quiet = { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) };
const clock = () => T0;
const PATTERNS: readonly JsonObject[] = FOREIGN_ROWS.map(({ pattern }) => JSON.parse(pattern));
/** Receives after which SQS moves a message to the DLQ. */
const RECEIVES = 5;

type IndexerFactory = typeof import('../../functions/due-indexer/handler.ts')['createHandler'];

/** Stream, indexer, sweep and channel function in one process, on a DynamoDB stand-in. */
export class HostileWorld {
  readonly sent = new Map<string, number>();
  readonly #client: DynamoDBClient;
  readonly #tables: TableNames;
  readonly #indexer: ReturnType<IndexerFactory>;
  readonly #channel: ReturnType<typeof bindChannel>;
  #sequence = 0;
  #lane: QueuedMessage[] = [];

  static async create(dynamodb: TestDynamoDb, createIndexer: IndexerFactory): Promise<HostileWorld> {
    return new HostileWorld(dynamodb.client, await createTables(dynamodb.client, 'hostile'), createIndexer);
  }

  private constructor(client: DynamoDBClient, tables: TableNames, createIndexer: IndexerFactory) {
    this.#client = client;
    this.#tables = tables;
    const sealer = sealerOn(client, tables);
    const store = createIndexStore({ client, tables, sealer, hashKey: async () => 'key' });
    this.#indexer = createIndexer({ store, shards: async () => BASE_SHARDS, policy, clock }, quiet);
    const pacing = createPacingStore(client, tables.pipeline_state);
    const receivers = new ReceiverPacer({ store: pacing, channel: 'webhook', clock, workers: 1 });
    const ports: ChannelPorts = {
      rows: createClaimStore(client, tables.notification_log, clock),
      records: createRecordStore(client, tables.notification_retry_log),
      contents: createContentStore(client, tables.notification_content, sealer),
      successors: createSuccessorStore(client, tables),
      sends: new SendsUnderWay(),
      sender: {
        send: async ({ log_id }) => {
          this.sent.set(log_id, (this.sent.get(log_id) ?? 0) + 1);
          return { ok: true, response_code: '200' };
        },
      },
      retries: { send: async () => {} },
      giveBack: async () => 0,
      breakers: createBreakerStore(client, tables.pipeline_state, clock),
      budgets: gatheredBudgets({ receivers }),
      receiver: async (row) => ({ ...(sharedBudget(row) ?? { key: 'none' }), per_second: 1_000_000 }),
      mayUse: async () => true,
      clock,
      random: () => 0,
      pause: async () => {},
      inSendTime: (send) => send(new AbortController().signal),
    };
    this.#channel = bindChannel('webhook', SETTINGS, ports, quiet);
  }

  /** False when DynamoDB itself refuses the item. */
  async put(item: Item): Promise<boolean> {
    try {
      await this.#client.send(new PutItemCommand({ TableName: this.#tables.notification_log, Item: item }));
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'ValidationException') return false;
      throw error;
    }
  }

  async items(): Promise<Item[]> {
    const found: Item[] = [];
    let from: Record<string, AttributeValue> | undefined;
    do {
      const page = await this.#client.send(
        new ScanCommand({ TableName: this.#tables.notification_log, ...(from && { ExclusiveStartKey: from }) }),
      );
      found.push(...(page.Items ?? []));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return found;
  }

  async rows(): Promise<Map<string, ForeignRow>> {
    return new Map((await this.items()).map((item) => [item['log_id']?.S ?? '', toForeignRow(item)]));
  }

  /** The stream shows every row as it is. @returns how many reads of the stream have to be repeated */
  async stream(): Promise<number> {
    const images = (await this.items()).map((NewImage) =>
      streamRecord(
        {
          eventName: 'MODIFY',
          dynamodb: {
            Keys: { log_id: NewImage['log_id'] ?? { S: '' } },
            NewImage,
            SequenceNumber: String(++this.#sequence),
          } as never,
        },
        'arn:aws:dynamodb:local',
        'us-east-1',
      ),
    );
    const Records = images.filter((image) => matchesAny(PATTERNS, image)) as unknown as DynamoDBRecord[];
    let repeated = 0;
    for (let i = 0; i < Records.length; i += 100) {
      const { batchItemFailures } = await this.#indexer({ Records: Records.slice(i, i + 100) });
      repeated += batchItemFailures.length;
    }
    return repeated;
  }

  /** One sweep, then the lane until it is empty. @returns how many messages went to the DLQ */
  async sweepAndDeliver(run_id: string): Promise<{ due: number; dead: number }> {
    const { result } = await sweep(
      {},
      { run_id },
      {
        foresee: unasked,
        index: createDueIndex(this.#client, this.#tables.notification_log, async () => BASE_SHARDS.work),
        malformed: malformedEntries({
          rows: createOperatorRows(this.#client, this.#tables.notification_log, clock),
          records: createRecordStore(this.#client, this.#tables.notification_retry_log),
          clock,
        }),
        sweeps: {
          lastCompleted: async () => undefined,
          lastExpress: async () => undefined,
          lastAhead: async () => undefined,
        },
        lanes: {
          backlog: async () => 0,
          send: async (messages) => {
            this.#lane.push(...messages);
            return [];
          },
        },
        clock,
        interval_ms: 3_600_000,
        policy,
      },
    );
    let dead = 0;
    let open = this.#lane.map(({ message }, i) => ({ message, id: `${run_id}-${i}` }));
    this.#lane = [];
    for (let receive = 1; receive <= RECEIVES && open.length > 0; receive++) {
      const back = new Set<string>();
      for (let i = 0; i < open.length; i += 10) {
        const Records = open.slice(i, i + 10).map(({ message, id }) => record(id, JSON.stringify(message), receive));
        const { batchItemFailures } = await this.#channel({ Records }, { getRemainingTimeInMillis: () => 60_000 });
        for (const { itemIdentifier } of batchItemFailures) back.add(itemIdentifier);
      }
      open = open.filter(({ id }) => back.has(id));
      if (receive === RECEIVES) dead = open.length;
    }
    return { due: result.due, dead };
  }
}

function record(messageId: string, body: string, receive: number): SQSRecord {
  return {
    messageId,
    body,
    receiptHandle: messageId,
    attributes: { SentTimestamp: String(T0.getTime()), ApproximateReceiveCount: String(receive) },
    eventSourceARN: 'arn:aws:sqs:local:000000000000:standard',
  } as unknown as SQSRecord;
}
