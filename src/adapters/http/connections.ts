import type { LookupFunction, Socket } from 'node:net';
import { bareHost } from './target-guard.ts';

const net = process.getBuiltinModule('node:net');

/**
 * Milliseconds after which an idle connection is closed. The time is short because a frozen function does not notice
 * that the other side closes: a connection from before the freeze would fail the first send after it.
 */
const IDLE_MS = 4_000;
/** A connection is not used any more so long before the other side closes it. */
const EARLIER_MS = 1_000;
/** Most idle connections of an origin, and most origins whose TLS sessions are kept to be resumed. */
const [MAX_IDLE, MAX_SESSIONS] = [32, 100];

/** Is told what a connection brings until its request is released. */
interface Requester {
  read(bytes: Buffer): void;
  /** @param error undefined: the other side has ended the connection */
  close(error: NodeJS.ErrnoException | undefined): void;
}

interface Connection {
  readonly origin: string;
  readonly socket: Socket;
  requester?: Requester | undefined;
  /** While it is idle: until when it may be used, in milliseconds since the epoch. */
  until: number;
}

/** Kept-alive connections, each with one request at a time. */
export class Connections {
  readonly #lookup: LookupFunction | undefined;
  readonly #open = new Set<Connection>();
  /** The one that was used last comes last, and is used first, so that the others can end. */
  readonly #idle: Connection[] = [];
  readonly #sessions = new Map<string, Buffer>();

  constructor(lookup: LookupFunction | undefined) {
    this.#lookup = lookup;
  }

  /** @returns ends the request: the connection is kept for so many seconds at most; 0: it is closed */
  send(url: URL, request: string, requester: Requester): (seconds: number) => void {
    const connection = this.#take(url.origin) ?? this.#connect(url);
    const { socket } = connection;
    connection.requester = requester;
    socket.write(request);
    return (seconds) => {
      connection.requester = undefined;
      const ms = Math.min(IDLE_MS, seconds * 1000 - EARLIER_MS);
      const others = this.#idle.filter(({ origin }) => origin === connection.origin).length;
      // An answer may come before the request is written.
      if (ms <= 0 || others >= MAX_IDLE || socket.writableLength > 0 || socket.destroyed) return void socket.destroy();
      connection.until = Date.now() + ms;
      socket.unref();
      this.#idle.push(connection);
    };
  }

  close(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  #take(origin: string): Connection | undefined {
    const at = this.#idle.findLastIndex((one) => one.origin === origin);
    if (at < 0) return undefined;
    const [one] = this.#idle.splice(at, 1) as [Connection];
    if (!one.socket.destroyed && Date.now() < one.until) {
      one.socket.ref();
      return one;
    }
    one.socket.destroy();
    return this.#take(origin);
  }

  #connect(url: URL): Connection {
    const [{ origin }, isSecure] = [url, url.protocol === 'https:'];
    const socket = (isSecure ? this.#connectSecurely : net.connect)({
      origin,
      host: bareHost(url),
      port: Number(url.port) || (isSecure ? 443 : 80),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 1_000,
      ...(this.#lookup && { lookup: this.#lookup }),
    });
    const connection: Connection = { origin, socket, until: 0 };
    this.#open.add(connection);
    let fault: NodeJS.ErrnoException | undefined;
    const unlessUsed = () => connection.requester === undefined && socket.destroy();
    // What was not asked for must not pass for the answer to what is asked next.
    socket.on('data', (bytes) => unlessUsed() || connection.requester?.read(bytes));
    socket.setTimeout(IDLE_MS, unlessUsed);
    socket.on('error', (error) => {
      fault = error;
    });
    socket.on('end', () => connection.requester?.close(undefined));
    socket.on('close', () => {
      this.#open.delete(connection);
      const at = this.#idle.indexOf(connection);
      if (at >= 0) this.#idle.splice(at, 1);
      connection.requester?.close(fault);
    });
    return connection;
  }

  readonly #connectSecurely = ({ origin, ...options }: { origin: string; host: string; port: number }): Socket => {
    const session = this.#sessions.get(origin);
    const more = { servername: net.isIP(options.host) === 0 ? options.host : '', ALPNProtocols: ['http/1.1'] };
    const socket = process.getBuiltinModule('node:tls').connect({ ...options, ...more, ...(session && { session }) });
    socket.on('session', (given) => {
      if (this.#sessions.size >= MAX_SESSIONS) this.#sessions.clear();
      this.#sessions.set(origin, given);
    });
    return socket.on('error', () => this.#sessions.delete(origin));
  };
}
