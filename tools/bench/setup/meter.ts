import { serve } from '../../../src/http/loopback-server.ts';
import type { World } from './world.ts';

/** The requests that passed a meter. */
export interface Reading {
  /** Number of requests per operation, such as `SendMessageBatch`. */
  readonly requests: Record<string, number>;
  /** DynamoDB's consumed capacity, indexes included. */
  write_units: number;
  read_units: number;
  /** The write units per table or index. */
  readonly written: Record<string, number>;
}

export type Meter = Awaited<ReturnType<typeof startMeter>>;

const WRITES = /^(Put|Update|Delete|BatchWrite|TransactWrite)|ExecuteStatement$/;
const HEADERS = ['authorization', 'content-type', 'x-amz-date', 'x-amz-target', 'x-amzn-query-mode'] as const;

/**
 * A proxy in front of a stand-in, so that the deployed code itself is measured. It forwards and counts the requests, and
 * asks DynamoDB for the capacity that each consumes.
 */
export async function startMeter({ services, until }: Pick<World, 'services' | 'until'>, what: 'dynamodb' | 'sqs') {
  let reading = emptyReading();
  const server = await serve(
    async (request, response, body) => {
      const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
      reading.requests[operation] = (reading.requests[operation] ?? 0) + 1;
      const headers = HEADERS.flatMap((name) => {
        const value = request.headers[name];
        return typeof value === 'string' ? [[name, value] as [string, string]] : [];
      });
      const sent =
        what === 'dynamodb'
          ? JSON.stringify({ ...JSON.parse(body.toString()), ReturnConsumedCapacity: 'INDEXES' })
          : body.toString();
      const answer = await fetch(`${services[what]}${request.url}`, { method: 'POST', headers, body: sent });
      const text = await answer.text();
      if (what === 'dynamodb' && answer.ok) count(reading, operation, JSON.parse(text));
      const type = answer.headers.get('content-type') ?? 'application/x-amz-json-1.0';
      response.writeHead(answer.status, { 'content-type': type }).end(text);
    },
    0,
    'the meter',
  );
  until('meter', () => server.close());
  return {
    url: server.url,
    /** The requests since the last call. */
    read(): Reading {
      const done = reading;
      reading = emptyReading();
      return done;
    },
  };
}

const emptyReading = (): Reading => ({ requests: {}, write_units: 0, read_units: 0, written: {} });

interface Consumed {
  readonly TableName?: string;
  readonly CapacityUnits?: number;
  readonly GlobalSecondaryIndexes?: Readonly<Record<string, { readonly CapacityUnits?: number }>>;
}

/** The answer to a batch has one entry per table, other answers have a single one. */
function count(reading: Reading, operation: string, answer: { readonly ConsumedCapacity?: Consumed | Consumed[] }) {
  const add = (name: string, units: number) => {
    reading.written[name] = (reading.written[name] ?? 0) + units;
  };
  const consumed = [answer.ConsumedCapacity ?? []].flat();
  for (const { TableName = '', CapacityUnits = 0, GlobalSecondaryIndexes = {} } of consumed) {
    if (!WRITES.test(operation)) {
      reading.read_units += CapacityUnits;
      continue;
    }
    reading.write_units += CapacityUnits;
    let inTable = CapacityUnits;
    for (const [name, { CapacityUnits: units = 0 }] of Object.entries(GlobalSecondaryIndexes)) {
      add(name, units);
      inTable -= units;
    }
    add(TableName, inTable);
  }
}

export function totalRequests({ requests }: Reading): number {
  return Object.values(requests).reduce((sum, count) => sum + count, 0);
}
