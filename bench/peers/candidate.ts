/** A system that sends the webhooks. */
export interface Candidate {
  readonly name: string;
  /** Processes whose CPU counts as the server's; with their children. */
  readonly servers: readonly number[];
  /** Queues webhooks, outside the measurement. */
  enqueue(count: number): Promise<void>;
  /** Starts a worker with the concurrency of ten. It begins at once. */
  start(): Promise<RunningWorker>;
  /** What is kept of attempts after all is delivered. */
  records(): Promise<number>;
  stop(): Promise<void>;
}

export interface RunningWorker {
  /** Microseconds of CPU that the worker has used since it began. */
  cpu(): Promise<number>;
  /** Kills it as the kernel does: SIGKILL. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Webhooks that a worker sends side by side; a batch of ours has as many. */
export const CONCURRENCY = 10;

/** After a death, a system may find out in its own way, but no later. Its defaults are 30 seconds to four hours. */
export const PATIENCE_SECONDS = 3;
