import type { PartitionCursors } from '../model/work-index.ts';
import { type LaneRooms, messagesIn } from './lane-room.ts';
import type { Dispatcher, DispatcherDeps } from './sweep-dispatcher.ts';
import { type WalkDeps, walk } from './walk.ts';

/** Milliseconds between two looks at full lanes. */
export const REFILL_EVERY_MS = 5_000;

/** A round of a walk. */
interface Place {
  readonly queue: number;
  readonly after?: PartitionCursors;
}

interface Swept {
  readonly rooms: LaneRooms;
  readonly queues: readonly string[][];
  /** When the sweep began, ISO-8601 UTC. */
  readonly until: string;
}

/**
 * Keeps lanes filled while the index is walked: a walk over millions of rows takes minutes, and what fits at its start is
 * sent in seconds (docs/decisions/delivery/sweep-and-backlog.md).
 */
export class TopUp {
  readonly #swept: Swept;
  readonly #dispatcher: Dispatcher;
  readonly #deps: WalkDeps & DispatcherDeps;
  /** By lane: where its first row is that did not fit; the beginning, where nobody knows it. */
  readonly #places = new Map<string, Place>();
  /** Lanes with rows that an earlier part of the sweep has met. */
  readonly #inherited: ReadonlySet<string>;
  #looked: number;

  constructor(swept: Swept, dispatcher: Dispatcher, deps: WalkDeps & DispatcherDeps) {
    this.#swept = swept;
    this.#dispatcher = dispatcher;
    this.#deps = deps;
    this.#looked = deps.clock().getTime();
    this.#inherited = new Set(swept.rooms.waiting());
    for (const lane of this.#inherited) this.#places.set(lane, { queue: 0 });
  }

  /** @param lanes those with rows of the round that did not fit */
  note(lanes: ReadonlySet<string>, round: Place): void {
    for (const lane of lanes) if (!this.#places.has(lane)) this.#places.set(lane, round);
  }

  /** Every five seconds: learns what the lanes take, and sends what did not fit into those that have room. */
  async look(): Promise<void> {
    const { clock, lanes } = this.#deps;
    const { rooms } = this.#swept;
    const now = clock().getTime();
    if (now - this.#looked < REFILL_EVERY_MS) return;
    const counts = await Promise.all(
      rooms.waiting().map(async (lane) => [lane, await messagesIn(lane, lanes)] as const),
    );
    for (const [lane, messages] of counts) rooms.measure(lane, messages, clock().getTime());
    const open = new Set(rooms.refillable().filter((lane) => this.#places.has(lane)));
    for (const lane of [...open]) if (open.has(lane)) await this.#fill(lane, open, now + REFILL_EVERY_MS);
    this.#looked = clock().getTime();
  }

  /** From the lane's place on, also for the other open lanes. It is a slice of what there is to walk. */
  async #fill(lane: string, open: Set<string>, end: number): Promise<void> {
    const { rooms, queues, until } = this.#swept;
    const isOver = () => this.#deps.clock().getTime() >= end;
    const before = new Map([...open].map((one) => [one, rooms.messages(one).before]));
    // What this part of the sweep has sent from the place on it knows.
    const own = new Map([...open].map((one) => [one, this.#inherited.has(one) ? rooms.messages(one).own : 0]));
    let place = this.#places.get(lane) ?? { queue: 0 };
    for (; place.queue < queues.length; place = { queue: place.queue + 1 }) {
      const stopped = await walk(
        {
          partitions: queues[place.queue] ?? [],
          after: place.after,
          window: { until },
          writes: false,
          each: async (items) => {
            await this.#dispatcher.refill(items, { before, own });
            for (const one of open) if (rooms.isFull(one)) open.delete(one);
            return !open.has(lane) || isOver();
          },
        },
        this.#deps,
      );
      if (stopped === undefined) continue;
      this.#places.set(lane, { queue: place.queue, after: stopped });
      return;
    }
    this.#places.delete(lane);
  }
}
