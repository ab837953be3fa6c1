import { CHANNELS, type Channel } from '../model/channels.ts';
import { type DueItem, type PartitionCursors, parseWorkQueue } from '../model/work-index.ts';
import { laneOf } from './backlog.ts';
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

/** The first round of all. */
const BEGINNING: Place = { queue: 0 };
/** Milliseconds of a search for rows that may be millions behind those of another channel. */
const SEARCH_MS = 20_000;

/**
 * Keeps lanes filled while the index is walked: a walk over millions of rows takes minutes, and what fits at its start is
 * sent in seconds (docs/decisions/delivery/sweep-and-backlog.md). A lane whose rows the walk has not come to is searched
 * for: the index leaves out those of other channels, in a tenth of the time that they take us.
 */
export class TopUp {
  readonly #swept: Swept;
  readonly #dispatcher: Dispatcher;
  readonly #deps: WalkDeps & DispatcherDeps;
  /** By lane: where its first row is that did not fit, or how far it was searched for. */
  readonly #places = new Map<string, Place>();
  /** Lanes of which an earlier part of the sweep has met rows, or sent messages. */
  readonly #inherited: ReadonlySet<string>;
  /** By lane of these: messages of the earlier part whose rows stand from its place on. */
  readonly #left = new Map<string, number>();
  /** Lanes without a row from their place on that is not sent. */
  readonly #served = new Set<string>();
  #looked: number;

  constructor(swept: Swept, dispatcher: Dispatcher, deps: WalkDeps & DispatcherDeps) {
    this.#swept = swept;
    this.#dispatcher = dispatcher;
    this.#deps = deps;
    const { rooms } = swept;
    this.#inherited = new Set([...rooms.waiting(), ...rooms.names().filter((lane) => rooms.unknown(lane).own > 0)]);
    for (const lane of rooms.waiting()) this.#places.set(lane, BEGINNING);
    this.#looked = this.#inherited.size > 0 ? 0 : deps.clock().getTime();
  }

  /** @param lanes those with rows of the round that did not fit */
  note(lanes: ReadonlySet<string>, round: Place): void {
    for (const lane of lanes) {
      this.#served.delete(lane);
      if (!this.#places.has(lane)) this.#places.set(lane, this.#inherited.has(lane) ? BEGINNING : round);
    }
  }

  /**
   * Every five seconds: learns what the lanes take, and sends what did not fit into those that have room.
   * @param filled once the walk has met all rows: lanes that are filled elsewhere, without knowing of messages of here
   */
  async look(filled?: Pick<ReadonlySet<string>, 'has'>): Promise<void> {
    const { clock, lanes } = this.#deps;
    const { rooms } = this.#swept;
    if (clock().getTime() - this.#looked < REFILL_EVERY_MS) return;
    const counts = await Promise.all(rooms.names().map(async (lane) => [lane, await messagesIn(lane, lanes)] as const));
    for (const [lane, messages] of counts) rooms.measure(lane, messages, clock().getTime());
    const isOpen = (lane: string) => {
      const isEmpty = rooms.total(lane) === 0;
      if (this.#places.has(lane)) return filled?.has(lane) ? isEmpty : rooms.isHalfEmpty(lane);
      return filled === undefined && isEmpty && !this.#served.has(lane);
    };
    const open = rooms.names().filter(isOpen);
    const placeOf = (lane: string) => this.#places.get(lane) ?? BEGINNING;
    for (const group of Map.groupBy(open, (lane) => JSON.stringify(placeOf(lane))).values())
      await this.#fill(new Set(group), placeOf(group[0] ?? ''));
    this.#looked = clock().getTime();
  }

  /** Fills lanes from the place that they have. It is a slice of what there is to walk. */
  async #fill(open: Set<string>, from: Place): Promise<void> {
    const { rooms, queues, until } = this.#swept;
    const isSearch = [...open].some((lane) => rooms.total(lane) === 0);
    const end = this.#deps.clock().getTime() + (isSearch ? SEARCH_MS : REFILL_EVERY_MS);
    const before = new Map([...open].map((one) => [one, rooms.unknown(one).before]));
    // What this part of the sweep has sent from the place on it knows.
    const isFirst = (lane: string) => this.#inherited.has(lane) && from === BEGINNING;
    const leftOf = (lane: string) => (isFirst(lane) ? Number.POSITIVE_INFINITY : (this.#left.get(lane) ?? 0));
    const ownOf = (lane: string) => Math.min(rooms.unknown(lane).own, leftOf(lane));
    const own = new Map([...open].map((one) => [one, ownOf(one)]));
    let left = own;
    const goOn = (lane: string, place: Place) => {
      this.#places.set(lane, place);
      this.#left.set(lane, left.get(lane) ?? 0);
    };
    for (let place = from; place.queue < queues.length; place = { queue: place.queue + 1 }) {
      const { queue } = place;
      const partitions = queues[queue] ?? [];
      const channels = () => channelsOf(open, partitions);
      if (channels().length === 0) continue;
      const each = async (items: readonly DueItem[], after: PartitionCursors) => {
        // The next slice begins with this round.
        left = new Map(own);
        await this.#dispatcher.refill(items, { before, own });
        for (const lane of open) {
          if (!rooms.isFull(lane)) continue;
          open.delete(lane);
          goOn(lane, { queue, after });
        }
        return channels().length === 0 || this.#deps.clock().getTime() >= end;
      };
      const { after } = place;
      const stopped = await walk({ partitions, after, window: { until }, channels, writes: false, each }, this.#deps);
      if (stopped === undefined || channels().length === 0) continue;
      for (const lane of open) goOn(lane, { queue, after: stopped });
      return;
    }
    for (const lane of open) {
      this.#places.delete(lane);
      this.#served.add(lane);
    }
  }
}

/** Channels whose rows in a queue are for one of the lanes. */
function channelsOf(lanes: ReadonlySet<string>, [partition = '']: readonly string[]): Channel[] {
  const { priority } = parseWorkQueue(partition) ?? {};
  return priority === undefined ? [] : CHANNELS.filter((channel) => lanes.has(laneOf({ channel, priority })));
}
