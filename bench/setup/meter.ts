import { serve } from '../../src/http/loopback-server.ts';

/** The requests that passed a meter. */
export interface Reading {
  /** Number of requests per operation, such as `SendMessageBatch`. */
  readonly requests: Readonly<Record<string, number>>;
  /** DynamoDB's consumed capacity, indexes included. */
  readonly write_units: number;
  readonly read_units: number;
  /** The write units per table or index. */
  readonly written: Readonly<Record<string, number>>;
}

/** A proxy in front of a stand-in, so that the deployed code itself is measured. */
export interface Meter {
  readonly url: string;
  /** The requests since the last call. */
  read(): Reading;
  close(): Promise<void>;
}

const WRITES = /^(Put|Update|Delete|BatchWrite|TransactWrite)|ExecuteStatement$/;
const HEADERS = ['authorization', 'content-type', 'x-amz-date', 'x-amz-target', 'x-amzn-query-mode'] as const;

/** Forwards and counts the requests to DynamoDB and SQS, and asks DynamoDB for the capacity that each consumes. */
export async function startMeter(upstream: string): Promise<Meter> {
  let tally = emptyTally();
  const server = await serve(
    async (request, response, body) => {
      const [service = '', operation = ''] = String(request.headers['x-amz-target']).split('.');
      const isDynamoDb = service.startsWith('DynamoDB_');
      tally.requests[operation] = (tally.requests[operation] ?? 0) + 1;
      const headers = HEADERS.flatMap((name) => {
        const value = request.headers[name];
        return typeof value === 'string' ? [[name, value] as [string, string]] : [];
      });
      const sent = isDynamoDb
        ? JSON.stringify({ ...JSON.parse(body.toString()), ReturnConsumedCapacity: 'INDEXES' })
        : body.toString();
      const answer = await fetch(`${upstream}${request.url}`, { method: 'POST', headers, body: sent });
      const text = await answer.text();
      if (isDynamoDb && answer.ok) count(tally, operation, JSON.parse(text));
      const type = answer.headers.get('content-type') ?? 'application/x-amz-json-1.0';
      response.writeHead(answer.status, { 'content-type': type }).end(text);
    },
    0,
    'the meter',
  );
  return {
    url: server.url,
    read() {
      const reading = tally;
      tally = emptyTally();
      return reading;
    },
    close: () => server.close(),
  };
}

interface Tally {
  readonly requests: Record<string, number>;
  write_units: number;
  read_units: number;
  readonly written: Record<string, number>;
}

function emptyTally(): Tally {
  return { requests: {}, write_units: 0, read_units: 0, written: {} };
}

interface Capacity {
  readonly CapacityUnits?: number;
}

interface Consumed extends Capacity {
  readonly TableName?: string;
  readonly GlobalSecondaryIndexes?: Readonly<Record<string, Capacity>>;
}

/** The answer to a batch has one entry per table, other answers have a single one. */
interface Answer {
  readonly ConsumedCapacity?: Consumed | Consumed[];
}

function count(tally: Tally, operation: string, answer: Answer): void {
  for (const { TableName = '', CapacityUnits = 0, GlobalSecondaryIndexes = {} } of [
    answer.ConsumedCapacity ?? [],
  ].flat()) {
    if (!WRITES.test(operation)) {
      tally.read_units += CapacityUnits;
      continue;
    }
    tally.write_units += CapacityUnits;
    let inTable = CapacityUnits;
    for (const [name, { CapacityUnits: units = 0 }] of Object.entries(GlobalSecondaryIndexes)) {
      add(tally.written, name, units);
      inTable -= units;
    }
    add(tally.written, TableName, inTable);
  }
}

function add(counts: Record<string, number>, name: string, units: number): void {
  counts[name] = (counts[name] ?? 0) + units;
}

export function totalRequests({ requests }: Reading): number {
  return Object.values(requests).reduce((sum, count) => sum + count, 0);
}
