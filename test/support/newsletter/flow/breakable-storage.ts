import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * - throttled, denied, failing: DynamoDB refuses, and nothing is written
 * - forgetful: DynamoDB writes and then answers 500, as after a broken connection
 */
export type StorageFault = keyof typeof ANSWERS;

/** Which calls fail. */
export interface Outage {
  readonly fault: StorageFault;
  readonly tables: readonly string[];
  /** `UpdateItem`, …: reads go on. */
  readonly operations: readonly string[];
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

  /** Calls that failed since it was broken. */
  get failed(): number {
    return this.#failed;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #answer(headers: IncomingHttpHeaders, body: Buffer, response: ServerResponse): Promise<void> {
    const fault = this.#faultOf(String(headers['x-amz-target']), body.toString());
    if (fault !== undefined) this.#failed += 1;
    if (fault === undefined || fault === 'forgetful') {
      const answer = await fetch(this.#target(), {
        method: 'POST',
        headers: forwarded(headers),
        body: new Uint8Array(body),
      });
      const text = Buffer.from(await answer.arrayBuffer());
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
    if (outage === undefined || !outage.operations.includes(target.split('.').at(-1) ?? '')) return undefined;
    return outage.tables.some((table) => body.includes(table)) ? outage.fault : undefined;
  }
}

function forwarded(headers: IncomingHttpHeaders): Record<string, string> {
  const { host: _, connection: __, 'content-length': ___, ...rest } = headers;
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)]));
}
