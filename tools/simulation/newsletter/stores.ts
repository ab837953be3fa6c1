import type { Batch, Chunk, ChunkState } from '../../../src/core/newsletter/model/batch.ts';
import type { BatchStore, ChunkStore, EmailStore, EventStore } from '../../../src/core/newsletter/model/ports.ts';
import { between, type Draw, START, type VirtualTime } from '../engine/virtual-time.ts';
import { SharedItems, ThrottledError } from '../models/capacity.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import type { Faults } from '../scenarios/newsletter-scenario.ts';
import { MemoryChunks, MemoryEmails } from '../twins/newsletter-items.ts';

const writes = (bytes: number) => Math.ceil(bytes / 1_024);
const reads = (bytes: number) => Math.ceil(bytes / 4_096);
/** A recipient of a chunk, compressed and sealed, and the rest of the item; of a state: SES's message id. */
const RECIPIENT_BYTES = 48;
const CHUNK_BYTES = 350;
const STATE_BYTES = 220;
const MESSAGE_ID_BYTES = 66;
const BATCH_BYTES = 900;

const chunkBytes = ({ recipients }: Chunk) => CHUNK_BYTES + recipients.length * RECIPIENT_BYTES;
function stateBytes({ states, message_ids, reasons }: Pick<ChunkState, 'states' | 'message_ids' | 'reasons'>): number {
  const ids = Object.keys(message_ids).length * MESSAGE_ID_BYTES;
  return STATE_BYTES + states.length + ids + Object.keys(reasons).length * 20;
}

type Cost = number | ((answer: never, ...args: never[]) => number | Promise<number>);

/** The tables of newsletters: their twins, and the units that their calls cost. */
export class NewsletterTables {
  /** PipelineState; the units of the other tables. */
  readonly state = new SharedItems();
  readonly units = { write: 0, read: 0 };
  readonly emails: EmailStore;
  readonly batches: BatchStore;
  readonly events: EventStore;
  readonly chunks: ChunkStore;

  constructor(time: VirtualTime) {
    const { emails, batches, events } = new MemoryEmails(time.clock);
    const listed = (all: readonly Batch[]) => reads(all.length * BATCH_BYTES);
    // The row, and its key in the active index.
    this.emails = this.#metered(emails, { read: { read: 1, content: 2 }, write: { change: 3 } });
    this.batches = this.#metered(batches, {
      read: { read: 1, list: listed, from: listed },
      write: { put: 1, change: 1 },
    });
    this.events = this.#metered(events, { read: { read: 1 }, write: { change: 1 } });
    this.chunks = this.#metered(new MemoryChunks().store, {
      read: {
        readChunk: 1,
        readChunks: async (found: Awaited<ReturnType<ChunkStore['readChunks']>>) =>
          reads(sumOf(await Promise.all(found.map((sealed) => sealed.open())), chunkBytes)),
        readState: 1,
        states: (all: readonly ChunkState[]) => reads(sumOf(all, stateBytes)),
      },
      write: {
        put: (_: unknown, chunks: Parameters<ChunkStore['put']>[0]) =>
          sumOf(chunks, ({ chunk, state }) => writes(chunkBytes(chunk)) + writes(stateBytes(state))),
        change: (_: unknown, __: unknown, next: ChunkState) => writes(stateBytes(next)),
      },
    });
  }

  /** A port whose calls are counted by what they cost. */
  #metered<T extends object>(port: T, costs: Record<'read' | 'write', Partial<Record<keyof T, Cost>>>): T {
    const kinds = ['read', 'write'] as const;
    const counted = kinds.flatMap((kind) =>
      Object.entries<Cost | undefined>(costs[kind]).map(([name, cost = 0]) => {
        const call = port[name as keyof T] as (...args: never[]) => Promise<never>;
        const metered = async (...args: never[]) => {
          const answer = await call(...args);
          this.units[kind] += typeof cost === 'number' ? cost : await cost(answer, ...args);
          return answer;
        };
        return [name, metered];
      }),
    );
    return { ...port, ...Object.fromEntries(counted) };
  }
}

const sumOf = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((sum, one) => sum + of(one), 0);

/** What the calls of a process meet. */
export interface Surroundings {
  readonly time: VirtualTime;
  readonly draw: Draw;
  readonly faults: Pick<Faults, 'failing' | 'stalling' | 'outages'>;
}

/** Milliseconds of a call to DynamoDB and to SQS. */
export const CALL_MS = [1, 12] as const;
export const STALL_MS = 400_000;

/** A call of a worker to storage or a queue. It may fail: before it was applied, or after. An outage is of storage. */
export function stored<A extends readonly unknown[], T>(
  around: Surroundings,
  worker: WorkerProcess,
  run: (...args: A) => Promise<T>,
  queue = false,
): (...args: A) => Promise<T> {
  const { time, draw } = around;
  return async (...args) => {
    const { failing, stalling } = around.faults;
    const answer = await worker.call(Math.floor(between(draw, ...CALL_MS)), async () => {
      const fails = (!queue && isDown(around)) || (failing > 0 && draw() < failing);
      if (fails && draw() < 0.5) throw new ThrottledError('slow down');
      const result = await run(...args);
      if (fails) throw new ThrottledError('the answer was lost');
      return result;
    });
    if (stalling > 0 && draw() < stalling) await time.pause(draw() * STALL_MS);
    return answer;
  };
}

/** Each method of a port as a call of the worker. */
export function through<T extends object>(around: Surroundings, worker: WorkerProcess, port: T, queue = false): T {
  const methods = Object.entries(port).map(([name, run]) => [name, stored(around, worker, run, queue)]);
  return Object.fromEntries(methods) as T;
}

function isDown({ time, faults }: Surroundings): boolean {
  const second = (time.now - START.getTime()) / 1000;
  return faults.outages.some(([from, until]) => from <= second && second < until);
}
