import { load, type PeerQueue, type PeerSettings } from './worker-port.ts';

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
