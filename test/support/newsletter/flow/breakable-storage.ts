import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * - throttled, denied, failing: DynamoDB refuses, and nothing is written
 * - forgetful: DynamoDB writes and then answers 500, as after a broken connection
 * - hanging: DynamoDB takes the request and answers nothing
 */
export type StorageFault = keyof typeof ANSWERS | 'hanging';

/** Which calls fail. */
export interface Outage {
  readonly fault: StorageFault;
  readonly tables: readonly string[];
  /** `UpdateItem`, …: reads go on. Absent: all. */
  readonly operations?: readonly string[];
}

const NAMESPACE = 'com.amazonaws.dynamodb.v20120810';
const ANSWERS = {
  throttled: { status: 400, type: `${NAMESPACE}#ProvisionedThroughputExceededException` },
  denied: { status: 400, type: 'com.amazon.coral.service#AccessDeniedException' },
  failing: { status: 500, type: `${NAMESPACE}#InternalServerError` },
  forgetful: { status: 500, type: `${NAMESPACE}#InternalServerError` },
} as const;

/** A proxy before the DynamoDB of a local runtime, which makes it fail for a while. */
export class BreakableStorage {
  readonly #server: Server;
  readonly #target: () => string;
  #outage: Outage | undefined;
  #failed = 0;
  #measured: string | undefined;
  #units = 0;

  private constructor(target: () => string) {
    this.#target = target;
    this.#server = createServer(async (request, response) => {
      try {
        const body: Buffer[] = [];
        for await (const chunk of request) body.push(chunk);
        await this.#answer(request.headers, Buffer.concat(body), response);
      } catch {
        // The runtime has not started yet, or has stopped.
        response.writeHead(503).end();
      }
    });
  }

  /** @param target where DynamoDB is; it may be unknown at first */
  static async start(target: () => string): Promise<BreakableStorage> {
    const storage = new BreakableStorage(target);
    await new Promise<void>((listening) => storage.#server.listen(0, '127.0.0.1', listening));
    return storage;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  break(outage: Outage): void {
    this.#failed = 0;
    this.#outage = outage;
  }

  mend(): void {
    this.#outage = undefined;
  }

  /** Counts the write units of a table's single items from now on. */
  measure(table: string): void {
    this.#measured = table;
    this.#units = 0;
  }

  /** Write units, as DynamoDB tells them, since `measure`. */
  get units(): number {
    return this.#units;
  }

  /** Calls that failed since it was broken. */
  get failed(): number {
    return this.#failed;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #answer(headers: IncomingHttpHeaders, body: Buffer, response: ServerResponse): Promise<void> {
    const target = String(headers['x-amz-target']);
    const fault = this.#faultOf(target, body.toString());
    if (fault !== undefined) this.#failed += 1;
    if (fault === 'hanging') return;
    const measured = fault === undefined && this.#isMeasured(target, body);
    if (fault === undefined || fault === 'forgetful') {
      const answer = await fetch(this.#target(), {
        method: 'POST',
        headers: forwarded(headers),
        body: new Uint8Array(measured ? withCapacity(body) : body),
      });
      const text = Buffer.from(await answer.arrayBuffer());
      if (measured) this.#units += unitsOf(text);
      if (fault === undefined) {
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(text);
        return;
      }
    }
    const { status, type } = ANSWERS[fault];
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify({ __type: type, message: 'as the test asked' }));
  }

  #faultOf(target: string, body: string): StorageFault | undefined {
    const outage = this.#outage;
    if (outage === undefined) return undefined;
    if (outage.operations?.includes(target.split('.').at(-1) ?? '') === false) return undefined;
    return outage.tables.some((table) => body.includes(table)) ? outage.fault : undefined;
  }

  #isMeasured(target: string, body: Buffer): boolean {
    if (this.#measured === undefined || !/\.(?:Update|Put|Delete)Item$/.test(target)) return false;
    return JSON.parse(body.toString()).TableName === this.#measured;
  }
}

function withCapacity(body: Buffer): Buffer {
  return Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), ReturnConsumedCapacity: 'TOTAL' }));
}

/** A refused condition is charged, too, and its answer does not say so. */
function unitsOf(answer: Buffer): number {
  const { ConsumedCapacity, __type = '' } = JSON.parse(answer.toString());
  return ConsumedCapacity?.CapacityUnits ?? (String(__type).includes('ConditionalCheckFailed') ? 1 : 0);
}

function forwarded(headers: IncomingHttpHeaders): Record<string, string> {
  const { host: _, connection: __, 'content-length': ___, ...rest } = headers;
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)]));
}
