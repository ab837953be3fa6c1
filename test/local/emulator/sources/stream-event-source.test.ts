import { join } from 'node:path';
import { CreateTableCommand, DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { type DynamoDBStreamsClient, GetRecordsCommand } from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBStreamEvent } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AwsClients, awsClients } from '../../../../src/local/emulator/aws-clients.ts';
import type { InvocationResult } from '../../../../src/local/emulator/lambda/invocation.ts';
import { StreamEventSource } from '../../../../src/local/emulator/sources/stream-event-source.ts';
import { type Checkpoints, fileCheckpoints } from '../../../../src/local/emulator/sources/stream-shard.ts';
import type { StreamMappingPlan } from '../../../../src/local/emulator/template/event-sources.ts';
import { type DynamodbStandIn, startDynamodb } from '../../../../src/local/stand-ins/dynamodb.ts';
import { eventually, scratch } from '../../../support/local/tiny-app.ts';

describe('the stream event source', () => {
  const directory = scratch();
  const sources: StreamEventSource[] = [];
  let dynamodb: DynamodbStandIn;
  let clients: AwsClients;
  let tables = 0;

  beforeAll(async () => {
    dynamodb = await startDynamodb(undefined, join(directory.path, 'dynamodb.log'), directory.path);
    clients = awsClients(dynamodb.endpoint, 'http://127.0.0.1:9');
  });
  afterEach(() => Promise.all(sources.splice(0).map((source) => source.stop())));
  afterAll(async () => {
    clients.destroy();
    await dynamodb.child.stop();
    directory.remove();
  });

  async function table(): Promise<string> {
    const TableName = `table-${++tables}`;
    await clients.dynamodb.send(
      new CreateTableCommand({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
      }),
    );
    return TableName;
  }

  async function put(TableName: string, ...ids: string[]): Promise<void> {
    for (const id of ids) {
      const Item = { id: { S: id }, size: { N: '1' }, raw: { B: new Uint8Array([1, 2, 255]) } };
      await clients.dynamodb.send(new PutItemCommand({ TableName, Item }));
    }
  }

  interface Started {
    readonly source: StreamEventSource;
    readonly batches: string[][];
    readonly events: DynamoDBStreamEvent[];
    readonly givenUp: string[];
  }

  function start(
    tableName: string,
    handle: (ids: string[], event: DynamoDBStreamEvent) => unknown = () => undefined,
    mapping: Partial<StreamMappingPlan> = {},
    checkpoints: Checkpoints = new Map<string, string>(),
    streams: DynamoDBStreamsClient = clients.streams,
  ): Started {
    const batches: string[][] = [];
    const events: DynamoDBStreamEvent[] = [];
    const givenUp: string[] = [];
    const invoke = async (text: string): Promise<InvocationResult> => {
      const event: DynamoDBStreamEvent = JSON.parse(text);
      const ids = event.Records.map((record) => record.dynamodb?.Keys?.['id']?.S ?? '');
      batches.push(ids);
      events.push(event);
      try {
        return { ok: true, result: JSON.stringify((await handle(ids, event)) ?? null) };
      } catch {
        return { ok: false, error: { errorType: 'Error', errorMessage: 'thrown' } };
      }
    };
    const source = new StreamEventSource({
      dynamodb: clients.dynamodb,
      streams,
      checkpoints,
      invoke,
      log: () => {},
      giveUp: async (message) => void givenUp.push(message),
      mapping: {
        id: 'Mapping',
        source: 'stream',
        functionName: 'f',
        sourceArn: `arn:aws:dynamodb:us-east-1:000000000000:table/${tableName}/stream/local`,
        tableName,
        batchSize: 100,
        batchWindowSeconds: 0,
        reportsBatchItemFailures: true,
        filters: [],
        maximumRetryAttempts: -1,
        bisectBatchOnFunctionError: false,
        ...mapping,
      },
    });
    sources.push(source);
    return { source, batches, events, givenUp };
  }

  const has = (batches: string[][], id: string) => eventually(() => (batches.flat().includes(id) ? true : undefined));

  it("gives the function Lambda's event, from the stream's beginning and in order", async () => {
    const name = await table();
    await put(name, 'a', 'b');
    const { events, batches } = start(name);
    await has(batches, 'b');
    await put(name, 'c');
    await has(batches, 'c');
    expect(batches.flat()).toEqual(['a', 'b', 'c']);
    expect(events[0]?.Records[0]).toEqual({
      eventID: expect.any(String),
      eventName: 'INSERT',
      eventVersion: expect.any(String),
      eventSource: 'aws:dynamodb',
      awsRegion: 'us-east-1',
      eventSourceARN: expect.stringContaining(`table/${name}/stream/`),
      dynamodb: {
        ApproximateCreationDateTime: expect.any(Number),
        Keys: { id: { S: 'a' } },
        NewImage: { id: { S: 'a' }, size: { N: '1' }, raw: { B: 'AQL/' } },
        SequenceNumber: expect.any(String),
        SizeBytes: expect.any(Number),
        StreamViewType: 'NEW_IMAGE',
      },
    });
  });

  it('leaves out records that its filters refuse', async () => {
    const name = await table();
    const { batches, source } = start(name, undefined, {
      filters: [{ eventName: ['INSERT'], dynamodb: { NewImage: { id: { S: [{ prefix: 'in' }] } } } }],
    });
    await put(name, 'out', 'in-1');
    await clients.dynamodb.send(new DeleteItemCommand({ TableName: name, Key: { id: { S: 'in-1' } } }));
    await put(name, 'in-2');
    expect(await source.caughtUp(10_000)).toBe(true);
    expect(batches.flat()).toEqual(['in-1', 'in-2']);
  });

  it('starts again at the first record that failed', async () => {
    const name = await table();
    await put(name, 'a', 'b', 'c');
    let failures = 2;
    const { batches, source } = start(name, (_, { Records }) => {
      const b = Records.find((record) => record.dynamodb?.Keys?.['id']?.S === 'b');
      if (b === undefined || failures-- <= 0) return {};
      return { batchItemFailures: [{ itemIdentifier: b.dynamodb?.SequenceNumber }] };
    });
    expect(await source.caughtUp(15_000)).toBe(true);
    expect(batches).toEqual([
      ['a', 'b', 'c'],
      ['b', 'c'],
      ['b', 'c'],
    ]);
  });

  it('repeats a batch whose function threw until it succeeds', async () => {
    const name = await table();
    await put(name, 'a', 'b');
    let failures = 2;
    const { batches, source } = start(name, () => {
      if (failures-- > 0) throw new Error('not yet');
    });
    expect(await source.caughtUp(15_000)).toBe(true);
    expect(batches).toEqual(Array.from({ length: 3 }, () => ['a', 'b']));
  });

  it('halves a failing batch until it has found the record, gives that record up, and goes on with the rest', async () => {
    const name = await table();
    await put(name, 'a', 'b', 'poison', 'c');
    const { batches, source, givenUp } = start(
      name,
      (ids) => {
        if (ids.includes('poison')) throw new Error('poisoned');
      },
      { bisectBatchOnFunctionError: true, maximumRetryAttempts: 1 },
    );
    expect(await source.caughtUp(15_000)).toBe(true);
    expect(batches.filter((ids) => !ids.includes('poison')).flat()).toEqual(['a', 'b', 'c']);
    expect(givenUp.map((text) => JSON.parse(text))).toMatchObject([
      { requestContext: { condition: 'RetryAttemptsExhausted' }, DDBStreamBatchInfo: { batchSize: 1 } },
    ]);
    expect(givenUp.join()).not.toContain('poison');
  });

  it('has caught up only when the records that were written before are handled', async () => {
    const name = await table();
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { source, batches } = start(name, () => held);
    await put(name, 'a');
    await has(batches, 'a');
    expect(await source.caughtUp(300)).toBe(false);
    release();
    expect(await source.caughtUp(10_000)).toBe(true);
  });

  it('has not caught up with a write through a read that came before it', async () => {
    const name = await table();
    let hold: Promise<void> | undefined;
    let held = 0;
    let release: () => void = () => {};
    const streams: DynamoDBStreamsClient = Object.create(clients.streams, {
      send: {
        value: async (command: GetRecordsCommand) => {
          const answer = await clients.streams.send(command);
          if (command instanceof GetRecordsCommand && hold !== undefined) {
            held++;
            await hold;
          }
          return answer;
        },
      },
    });
    const { source, batches } = start(name, undefined, {}, new Map<string, string>(), streams);
    expect(await source.caughtUp(10_000)).toBe(true);
    hold = new Promise((resolve) => {
      release = resolve;
    });
    await eventually(() => (held > 0 ? true : undefined));
    await put(name, 'a');
    const caughtUp = source.caughtUp(10_000);
    release();
    expect(await caughtUp).toBe(true);
    expect(batches.flat()).toEqual(['a']);
  });

  it('goes on after its checkpoint when it is restarted, and misses no record that was written meanwhile', async () => {
    const name = await table();
    const file = join(directory.path, `${name}.json`);
    const first = start(name, undefined, {}, fileCheckpoints(file));
    await put(name, 'a', 'b');
    expect(await first.source.caughtUp(10_000)).toBe(true);
    await first.source.stop();
    await put(name, 'c');
    const second = start(name, undefined, {}, fileCheckpoints(file));
    expect(await second.source.caughtUp(10_000)).toBe(true);
    expect(second.batches.flat()).toEqual(['c']);
  });
});
