import { load, type PeerQueue, type PeerSettings } from './worker-port.ts';

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
