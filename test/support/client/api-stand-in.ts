import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import canonicalize from 'canonicalize';
import type { BatchNotification, Notification } from '../../../src/client/handover/notification.ts';
import type { ProducerApi } from './producer-api.ts';

interface Stored {
  readonly content: string;
  readonly log_id: string;
}

export interface Asked {
  readonly path: string;
  readonly key: string | undefined;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

/**
 * An answer instead of the normal one. `drop` takes the request and closes the connection without an answer; `stall`
 * leaves the connection open.
 */
export interface Instead {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

const PROBLEM = 'urn:notification-retry:problem:';

export function problem(name: string, status: number): Instead {
  return {
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: { type: PROBLEM + name, title: name, status },
  };
}

/**
 * The contract of the intake API over loopback HTTP, with idempotency. Accepted notifications survive stop and start.
 */
export class ApiStandIn implements ProducerApi {
  /** Its own: while it is stopped, another stand-in may get its port, and must not take what is meant for it. */
  readonly apiKey = `nrk_test_${randomUUID()}`;
  readonly asked: Asked[] = [];
  /** Accepted notifications in their order, without repeats. */
  readonly accepted: Notification[] = [];
  readonly failures: { readonly log_id: string; readonly body: unknown }[] = [];
  /** Answers requests instead of the API, which then takes nothing. */
  instead: (asked: Asked) => Instead | 'drop' | 'stall' | undefined = () => undefined;
  /** Answers for an item of a batch, or for a single notification, instead of the API. */
  insteadOfItem: (notification: Notification) => Instead | undefined = () => undefined;
  /** Whether the answer to a request that was taken is lost. */
  losesAnswer: () => boolean = () => false;
  readonly #keys = new Map<string, Stored>();
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => this.#receive(request, response));
    await new Promise<void>((done) => {
      // Another connection may have got the port in the meantime, for a moment.
      server.on('error', () => setTimeout(listen, 20));
      const listen = () => server.listen(this.#port, '127.0.0.1', done);
      listen();
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise((done) => (server ? server.close(done) : done(undefined)));
  }

  /** The API forgets keys after 72 hours. */
  forgetKeys(): void {
    this.#keys.clear();
  }

  notification(marker: string): BatchNotification {
    return {
      channel: 'webhook',
      recipient: `https://hooks.example/${marker}`,
      body: `{"n":"${marker}"}`,
      notification_id: marker,
    };
  }

  async delivered(): Promise<string[]> {
    return this.accepted.map(({ notification_id = '' }) => notification_id);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers, url: path = '' } = request;
      const key = headers['idempotency-key']?.toString();
      const asked = {
        path,
        key,
        authorization: headers.authorization,
        body: JSON.parse(Buffer.concat(chunks).toString()),
      };
      this.asked.push(asked);
      const instead = this.instead(asked);
      if (instead === 'drop') return void request.socket.destroy();
      if (instead === 'stall') return;
      const answer = instead ?? this.#answer(asked);
      if (this.losesAnswer()) return void request.socket.destroy();
      const { status, headers: sent = { 'content-type': 'application/json' }, body } = answer;
      response.writeHead(status, sent).end(body === undefined ? '' : JSON.stringify(body));
    });
  }

  #answer({ path, key, authorization, body }: Asked): Instead {
    if (authorization !== `Bearer ${this.apiKey}`) return problem('unauthenticated', 401);
    if (key === undefined) return problem('idempotency-key-missing', 400);
    const [, log_id] = /^\/v1\/notifications\/([^/]+)\/failures$/.exec(path) ?? [];
    if (log_id !== undefined) return this.#reported(log_id, key, body);
    if (path === '/v1/notifications') return this.#take(body as unknown as Notification, key);
    if (path !== '/v1/notifications/batch') return { status: 404, body: { message: 'Not Found' } };
    const notifications = body['notifications'] as BatchNotification[];
    if (notifications.length > 100) return problem('invalid-request', 400);
    const results = notifications.map(({ idempotency_key = key, ...notification }, index) => {
      const { status, headers = {}, body: taken } = this.#take(notification, idempotency_key);
      if (status !== 202) return { index, status, problem: taken };
      return { ...(taken as object), index, status, ...(headers['idempotent-replayed'] && { repeat: true }) };
    });
    return { status: 200, body: { results } };
  }

  #take(notification: Notification, key: string): Instead {
    const instead = this.insteadOfItem(notification);
    if (instead) return instead;
    if (typeof notification.recipient !== 'string') return problem('invalid-request', 400);
    const content = canonicalize(notification) ?? '';
    const stored = this.#keys.get(key);
    if (stored && stored.content !== content) return problem('idempotency-key-reused', 409);
    const log_id = stored?.log_id ?? `log-${this.accepted.push(notification)}`;
    this.#keys.set(key, { content, log_id });
    const body = { log_id, status: 'PENDING', status_url: `/v1/notifications/${log_id}` };
    return {
      status: 202,
      body,
      headers: { 'content-type': 'application/json', ...(stored && { 'idempotent-replayed': 'true' }) },
    };
  }

  #reported(log_id: string, key: string, body: unknown): Instead {
    const content = `${log_id} ${canonicalize(body)}`;
    const stored = this.#keys.get(key);
    if (stored && stored.content !== content) return problem('idempotency-key-reused', 409);
    if (!stored) this.failures.push({ log_id, body });
    this.#keys.set(key, { content, log_id });
    return { status: 202, body: { log_id }, headers: stored ? { 'idempotent-replayed': 'true' } : {} };
  }
}
