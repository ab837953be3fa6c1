import { createMemoryIntake } from '../../../src/adapters/memory/memory-intake.ts';
import type { MemoryQueue } from '../../../src/adapters/memory/memory-queue.ts';
import type { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { accept } from '../../../src/core/intake/accept.ts';
import type { QueuedMessage } from '../../../src/core/model/lanes.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { BASE_SHARDS, shardsForWriting } from '../../../src/core/model/work/index-shards.ts';
import { ignoreFaults, through, type Worker } from './worker.ts';

/** A producer that hands notifications to the API, with their log_id as its key. */
export class Producer {
  readonly #tables: MemoryTables;
  readonly #queue: MemoryQueue;
  readonly #clock: Clock;
  readonly #intake;
  #runs = 0;

  constructor(tables: MemoryTables, queue: MemoryQueue, clock: Clock) {
    this.#tables = tables;
    this.#queue = queue;
    this.#clock = clock;
    this.#intake = createMemoryIntake(tables);
  }

  /** One request, which the worker takes. @returns true when the answer is 202 */
  async handOver(log_id: string, worker: Worker): Promise<boolean> {
    const notification = {
      channel: 'webhook',
      priority: 'normal',
      recipient: `to ${log_id}`,
      body: `words for ${log_id}`,
      format: 'PLAIN',
    } as const;
    const lanes = through(worker, 'lanes', {
      send: async ({ message, delay_seconds }: QueuedMessage) => this.#queue.send(message, delay_seconds),
    });
    try {
      const { message } = await accept(
        { tenant_id: 'tenant-1', notification, request_hash: 'hash', logId: () => log_id },
        {
          store: through(worker, 'intake', this.#intake),
          records: through(worker, 'records', this.#tables.records),
          policy: DEFAULT_RETRY_POLICY,
          shards: shardsForWriting(BASE_SHARDS, this.#tables.shards),
          clock: this.#clock,
          newId: () => String(++this.#runs),
        },
      );
      // The request is answered even if the lane does not take the message.
      if (message !== undefined) await lanes.send(message).catch(ignoreFaults);
      return !worker.dead;
    } catch (error) {
      if (!(error instanceof Problem)) ignoreFaults(error);
      return false;
    }
  }
}
