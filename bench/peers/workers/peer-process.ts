import { createWebhookSigner } from '../../../src/adapters/webhook/sender.ts';
import { serveParent } from '../../../src/local/processes/serve-parent.ts';
import { pgBoss } from './pg-boss.ts';
import { load, type PeerQueue, type PeerSettings, type Send } from './worker-port.ts';

interface Job {
  readonly data: { readonly id: string };
}

interface BullMq {
  readonly Queue: new (
    name: string,
    options: object,
  ) => {
    addBulk(jobs: readonly object[]): Promise<unknown>;
    getJobCountByTypes(...types: string[]): Promise<number>;
    obliterate(options: object): Promise<void>;
  };
  readonly Worker: new (
    name: string,
    work: (job: Job) => Promise<void>,
    options: object,
  ) => {
    on(event: 'error', listener: (error: unknown) => void): void;
  };
}

const NAME = 'webhooks';

/** Completed jobs are kept, as ours keep their records. */
export function bullmq(settings: PeerSettings): PeerQueue {
  const { Queue, Worker } = load<BullMq>(settings, 'bullmq');
  const connection = { host: '127.0.0.1', port: settings.port };
  const queue = new Queue(NAME, { connection });
  const { body, concurrency, patience_seconds } = settings;
  return {
    async enqueue(ids) {
      const opts = { attempts: 10, backoff: { type: 'fixed', delay: 1_000 } };
      await queue.addBulk(ids.map((id) => ({ name: 'send', data: { id, body }, opts })));
    },
    async work(send) {
      const lock = patience_seconds * 1000;
      new Worker(NAME, ({ data }) => send(data.id), {
        ...{ connection, concurrency, lockDuration: lock, stalledInterval: lock / 2 },
        maxStalledCount: 100,
      }).on('error', () => {});
    },
    records: () => queue.getJobCountByTypes('completed'),
    clear: () => queue.obliterate({ force: true }),
  };
}

/**
 * The process of a peer's producer or worker: `peer-process.ts SETTINGS`. Plain `node` runs this file. It answers each
 * message `{ id, do, ids }` with `{ id, value }` or `{ id, error }`.
 */
const PEERS = { bullmq, 'pg-boss': pgBoss, 'graphile-worker': graphileWorker };

interface Order {
  readonly id: number;
  readonly do: 'enqueue' | 'work' | 'records' | 'clear' | 'cpu';
  readonly ids?: readonly string[];
}

const settings = JSON.parse(process.argv[2] ?? '{}') as PeerSettings;

await serveParent(async () => {
  const queue = PEERS[settings.peer as keyof typeof PEERS](settings);
  const send = sender(settings);
  let before = process.cpuUsage();
  const obey = async (order: Order): Promise<unknown> => {
    switch (order.do) {
      case 'enqueue':
        return queue.enqueue(order.ids ?? []);
      case 'work':
        before = process.cpuUsage();
        return queue.work(send);
      case 'records':
        return queue.records();
      case 'clear':
        return queue.clear();
      case 'cpu': {
        const { user, system } = process.cpuUsage(before);
        return user + system;
      }
    }
  };
  process.on('message', (message) => {
    const order = message as Order;
    obey(order).then(
      (value) => process.send?.({ id: order.id, value }),
      (error: unknown) => process.send?.({ id: order.id, error: String(error) }),
    );
  });
  return {};
});

/** The same signature as our sender's, and Node's own fetch. */
function sender({ url, secret, body }: PeerSettings): Send {
  const signer = createWebhookSigner();
  return async (id) => {
    const at = new Date();
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signer.sign([secret], id, at, body),
    };
    const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`the receiver answered ${answer.status}`);
  };
}

interface Payload {
  readonly id: string;
}

interface GraphileWorker {
  run(options: object): Promise<unknown>;
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    withPgClient<T>(
      run: (client: { query(text: string, values?: readonly unknown[]): Promise<{ rows: { count: string }[] }> }) => T,
    ): Promise<T>;
  }>;
  readonly Logger: new (factory: () => () => void) => unknown;
}

/** A delivered job leaves the table. A job of a worker that died stays locked for four hours, unless someone unlocks it. */
export function graphileWorker(settings: PeerSettings): PeerQueue {
  const { run, makeWorkerUtils, Logger } = load<GraphileWorker>(settings, 'graphile-worker');
  const { body, concurrency, port } = settings;
  const common = {
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    logger: new Logger(() => () => {}),
  };
  const utils = (async () => {
    const made = await makeWorkerUtils(common);
    await made.migrate();
    return made;
  })();
  const query = async (text: string, values: readonly unknown[] = []) =>
    (await utils).withPgClient((client) => client.query(text, values));
  return {
    async enqueue(ids) {
      await query(
        `SELECT count(graphile_worker.add_job('send', json_build_object('id', id, 'body', $2::text), max_attempts => 25)) FROM unnest($1::text[]) AS id`,
        [ids, body],
      );
    },
    async work(send) {
      await utils;
      await run({
        ...common,
        concurrency,
        pollInterval: 500,
        noHandleSignals: true,
        taskList: { send: (payload: Payload) => send(payload.id) },
      });
    },
    records: async () => Number((await query('SELECT count(*) FROM graphile_worker.jobs')).rows[0]?.count),
    clear: async () => {
      await query('DELETE FROM graphile_worker._private_jobs');
    },
  };
}
