import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createWebhookSigner } from '../../../src/adapters/webhook/sender.ts';
import { serveParent } from '../../../src/local/processes/serve-parent.ts';

/** What a peer's process needs to know; JSON in its first argument. */
export interface PeerSettings {
  readonly peer: string;
  /** Folder with the peers' packages. */
  readonly tools: string;
  readonly port: number;
  readonly url: string;
  readonly secret: string;
  readonly body: string;
  readonly concurrency: number;
  readonly patience_seconds: number;
}

type Send = (id: string) => Promise<void>;
type Rows = Promise<{ readonly rows: readonly { readonly count: string }[] }>;

/** A peer as its own documentation says to use it. */
interface PeerQueue {
  /** Removes all jobs, then queues these. */
  enqueue(ids: readonly string[]): Promise<unknown>;
  work(send: Send): Promise<unknown>;
  /** Rows or entries about attempts that are kept. */
  records(): Promise<number>;
}

const NAME = 'webhooks';

/** Loads a package of the tools' folder. The caller declares the part of it that it uses. */
const load = <T>({ tools }: PeerSettings, name: string) => createRequire(join(tools, 'package.json'))(name) as T;

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
    work: (job: { readonly data: { readonly id: string } }) => Promise<void>,
    options: object,
  ) => { on(event: 'error', listener: (error: unknown) => void): void };
}

/** Completed jobs are kept, as ours keep their records. */
function bullmq(settings: PeerSettings): PeerQueue {
  const { Queue, Worker } = load<BullMq>(settings, 'bullmq');
  const connection = { host: '127.0.0.1', port: settings.port };
  const queue = new Queue(NAME, { connection });
  const { body, concurrency, patience_seconds } = settings;
  return {
    async enqueue(ids) {
      await queue.obliterate({ force: true });
      const opts = { attempts: 10, backoff: { type: 'fixed', delay: 1_000 } };
      await queue.addBulk(ids.map((id) => ({ name: 'send', data: { id, body }, opts })));
    },
    async work(send) {
      const lock = patience_seconds * 1000;
      new Worker(NAME, ({ data }) => send(data.id), {
        connection,
        concurrency,
        lockDuration: lock,
        stalledInterval: lock / 2,
        maxStalledCount: 100,
      }).on('error', () => {});
    },
    records: () => queue.getJobCountByTypes('completed'),
  };
}

interface PgBoss {
  on(event: 'error', listener: (error: unknown) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  insert(name: string, jobs: readonly object[]): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: readonly PgBossJob[]) => Promise<unknown>): Promise<unknown>;
  getDb(): { executeSql(text: string): Rows };
  deleteAllJobs(name: string): Promise<void>;
}

interface PgBossJob {
  readonly id: string;
  readonly data: { readonly id: string };
}

/** Batches whose jobs succeed and fail one by one; a full batch is followed by the next one at once. */
async function pgBoss(settings: PeerSettings): Promise<PeerQueue> {
  const { PgBoss } = load<{ readonly PgBoss: new (options: object) => PgBoss }>(settings, 'pg-boss');
  const { body, concurrency, patience_seconds, port } = settings;
  const boss = new PgBoss({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    database: 'postgres',
    superviseIntervalSeconds: 1,
    maintenanceIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
  });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue(NAME, { retryLimit: 100, retryDelay: 1, expireInSeconds: patience_seconds });
  const options = {
    batchSize: concurrency,
    pollingIntervalSeconds: 0.5,
    perJobResults: true,
    burstWhenBatchFull: true,
  };
  const outcome = (send: Send, { id, data }: PgBossJob) =>
    send(data.id).then(
      () => ({ id, status: 'completed' }),
      (error: unknown) => ({ id, status: 'failed', output: { message: String(error) } }),
    );
  return {
    async enqueue(ids) {
      await boss.deleteAllJobs(NAME);
      const jobs = ids.map((id) => ({ data: { id, body } }));
      await boss.insert(NAME, jobs);
    },
    work: (send) => boss.work(NAME, options, (jobs) => Promise.all(jobs.map((job) => outcome(send, job)))),
    async records() {
      const counted = `SELECT count(*) FROM pgboss.job WHERE name = '${NAME}' AND state = 'completed'`;
      return Number((await boss.getDb().executeSql(counted)).rows[0]?.count);
    },
  };
}

interface GraphileWorker {
  run(options: object): Promise<unknown>;
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    withPgClient(run: (client: { query(text: string, values?: readonly unknown[]): Rows }) => Rows): Rows;
  }>;
  readonly Logger: new (factory: () => () => void) => unknown;
}

/** A delivered job leaves the table. A job of a worker that died stays locked for four hours, unless someone unlocks it. */
async function graphileWorker(settings: PeerSettings): Promise<PeerQueue> {
  const { run, makeWorkerUtils, Logger } = load<GraphileWorker>(settings, 'graphile-worker');
  const { body, concurrency, port } = settings;
  const connectionString = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const common = { connectionString, logger: new Logger(() => () => {}) };
  const utils = await makeWorkerUtils(common);
  await utils.migrate();
  const query = (text: string, values?: readonly unknown[]) =>
    utils.withPgClient((client) => client.query(text, values));
  return {
    async enqueue(ids) {
      await query('DELETE FROM graphile_worker._private_jobs');
      await query(
        `SELECT count(graphile_worker.add_job('send', json_build_object('id', id, 'body', $2::text), max_attempts => 25)) FROM unnest($1::text[]) AS id`,
        [ids, body],
      );
    },
    work: (send) =>
      run({
        ...common,
        concurrency,
        pollInterval: 500,
        noHandleSignals: true,
        taskList: { send: (payload: { readonly id: string }) => send(payload.id) },
      }),
    records: async () => Number((await query('SELECT count(*) FROM graphile_worker.jobs')).rows[0]?.count),
  };
}

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

const PEERS = { bullmq, 'pg-boss': pgBoss, 'graphile-worker': graphileWorker };

/**
 * A process of a peer that does one thing: `peer-process.ts SETTINGS enqueue COUNT | work | records`. Plain `node` runs
 * this file. It announces that it is done, or that it works from now on.
 */
await serveParent(async () => {
  const [given = '{}', action, count] = process.argv.slice(2);
  const settings = JSON.parse(given) as PeerSettings;
  const queue = await PEERS[settings.peer as keyof typeof PEERS](settings);
  if (action === 'records') return { records: await queue.records() };
  if (action === 'work') await queue.work(sender(settings));
  else await queue.enqueue(Array.from({ length: Number(count) }, () => randomUUID()));
  return {};
});
