import { load, type PeerQueue, type PeerSettings } from './worker-port.ts';

interface Job {
  readonly id: string;
  readonly data: { readonly id: string };
}

interface PgBoss {
  on(event: 'error', listener: (error: unknown) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  insert(name: string, jobs: readonly object[]): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: readonly Job[]) => Promise<unknown>): Promise<unknown>;
  getDb(): { executeSql(text: string): Promise<{ readonly rows: readonly { readonly count: string }[] }> };
  deleteAllJobs(name: string): Promise<void>;
}

const NAME = 'webhooks';

/** Batches whose jobs succeed and fail one by one; a full batch is followed by the next one at once. */
export function pgBoss(settings: PeerSettings): PeerQueue {
  const { PgBoss } = load<{ readonly PgBoss: new (options: object) => PgBoss }>(settings, 'pg-boss');
  const { body, concurrency, patience_seconds, port } = settings;
  const boss = new PgBoss({
    ...{ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' },
    ...{ superviseIntervalSeconds: 1, maintenanceIntervalSeconds: 1, monitorIntervalSeconds: 1 },
  });
  boss.on('error', () => {});
  const started = (async () => {
    await boss.start();
    await boss.createQueue(NAME, { retryLimit: 100, retryDelay: 1, expireInSeconds: patience_seconds });
  })();
  const queue = () => started.then(() => boss);
  return {
    async enqueue(ids) {
      await (await queue()).insert(
        NAME,
        ids.map((id) => ({ data: { id, body } })),
      );
    },
    async work(send) {
      const options = {
        ...{ batchSize: concurrency, pollingIntervalSeconds: 0.5 },
        ...{ perJobResults: true, burstWhenBatchFull: true },
      };
      await (await queue()).work(NAME, options, async (jobs) =>
        Promise.all(
          jobs.map(({ id, data }) =>
            send(data.id).then(
              () => ({ id, status: 'completed' }),
              (error: unknown) => ({ id, status: 'failed', output: { message: String(error) } }),
            ),
          ),
        ),
      );
    },
    async records() {
      const { rows } = await (await queue())
        .getDb()
        .executeSql(`SELECT count(*) FROM pgboss.job WHERE name = '${NAME}' AND state = 'completed'`);
      return Number(rows[0]?.count);
    },
    clear: async () => (await queue()).deleteAllJobs(NAME),
  };
}
