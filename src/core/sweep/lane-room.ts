import type { Channel, Lane } from '../model/channels.ts';
import type { SweepLanes } from '../model/queue-message.ts';

/** How full a scheduled sweep may make a lane (docs/decisions/delivery/sweep-and-backlog.md#0082). */
export interface LaneBound {
  /** A lane gets as many messages as it takes in this time, in seconds. */
  readonly seconds: number;
  /** Messages that a lane may hold whatever it takes: as long as nobody knows its throughput, and a full page. */
  readonly least: number;
}

/** What a sweep that continues must know of a lane. */
export interface LaneState {
  /** Messages that the lane may hold. */
  readonly limit: number;
  /** Messages in the lane when it was last looked at, with those that were sent since. */
  readonly messages: number;
  /** Of these, messages that were there before the sweep. A lane takes them before those of the sweep. */
  readonly before: number;
  /** When it was looked at, epoch milliseconds. */
  readonly at: number;
  /** Due rows that did not fit. */
  readonly held: number;
  /** Messages of the sweep beyond the limit. */
  readonly beyond?: number;
}

/** Messages per lane and sweep that are sent again although the lane is full. */
const MOST_BEYOND = 100;

/** The room in the lanes, by `<channel>-<lane>`. */
export class LaneRooms {
  readonly #bound: LaneBound;
  readonly #lanes: Map<string, { -readonly [K in keyof LaneState]: LaneState[K] }>;
  /** Messages that an earlier part of the sweep sent: a lane takes them after those from before the sweep. */
  readonly #earlier: Map<string, number>;

  constructor(bound: LaneBound, known: Readonly<Record<string, LaneState>> = {}) {
    this.#bound = bound;
    this.#lanes = new Map(Object.entries(known).map(([lane, state]) => [lane, { ...state }]));
    // All until the first look: Lambda may repeat a part that died, which had sent more.
    this.#earlier = new Map(Object.keys(known).map((lane) => [lane, Number.POSITIVE_INFINITY]));
  }

  /** Begins with what the lane holds now. */
  begin(lane: string, messages: number, now: number): void {
    this.#lanes.set(lane, { limit: this.#bound.least, messages, before: messages, at: now, held: 0 });
  }

  /**
   * Takes a place; false when the lane is full. A lane that is full at every sweep must not starve a row whose message
   * was lost, so some of the oldest that are sent again find a place all the same
   * (docs/decisions/delivery/sweep-and-backlog.md#0179).
   */
  take(lane: string, again = false): boolean {
    const state = this.#lanes.get(lane);
    if (state === undefined) return true;
    const beyond = state.beyond ?? 0;
    const isFull = state.messages >= state.limit;
    if (isFull && (!again || beyond >= MOST_BEYOND)) return false;
    if (isFull) state.beyond = beyond + 1;
    state.messages += 1;
    return true;
  }

  hold(lane: string): void {
    const state = this.#lanes.get(lane);
    if (state) state.held += 1;
  }

  /**
   * A row that did not fit is sent, or a second message for one that a worker has received: nobody can tell. So the last
   * one counts until the lane is empty and gets all that is still due
   * (docs/decisions/delivery/sweep-and-backlog.md).
   */
  release(lane: string): void {
    const state = this.#lanes.get(lane);
    if (state && state.held > 1) state.held -= 1;
  }

  /** No row of the lane waits any more: the others have left the index. */
  releaseAll(lane: string): void {
    const state = this.#lanes.get(lane);
    if (state) state.held = 0;
  }

  /** All messages in the lane, with those that were sent since it was looked at. */
  total(lane: string): number {
    return this.#lanes.get(lane)?.messages ?? 0;
  }

  /** Messages of which this part of the sweep does not know whose they are. */
  unknown(lane: string): { readonly before: number; readonly own: number } {
    const { messages = 0, before = 0 } = this.#lanes.get(lane) ?? {};
    return { before, own: Math.min(messages - before, this.#earlier.get(lane) ?? 0) };
  }

  /** Learns how much the lane takes. One that has become empty may take more than it had: its limit at least doubles. */
  measure(lane: string, messages: number, now: number): void {
    const state = this.#lanes.get(lane);
    if (state === undefined || now <= state.at || (messages === 0 && state.messages === 0)) return;
    const taken = Math.max(0, state.messages - messages);
    const measured = Math.ceil((taken / (now - state.at)) * 1000 * this.#bound.seconds);
    const limit = messages === 0 ? Math.max(measured, state.limit * 2) : (measured + state.limit) / 2;
    const leftOf = (first: number) => Math.min(messages, Math.max(0, first - taken));
    const before = leftOf(state.before);
    this.#earlier.set(lane, leftOf(state.before + (this.#earlier.get(lane) ?? 0)) - before);
    this.#lanes.set(lane, {
      ...state,
      limit: Math.max(this.#bound.least, Math.ceil(limit)),
      messages,
      before,
      at: now,
    });
  }

  isFull(lane: string): boolean {
    const state = this.#lanes.get(lane);
    return state !== undefined && state.messages >= state.limit;
  }

  /** Whether it has room for half of what it may hold, so that it is worth a walk. */
  isHalfEmpty(lane: string): boolean {
    const state = this.#lanes.get(lane);
    return state !== undefined && state.messages <= state.limit / 2;
  }

  names(): string[] {
    return [...this.#lanes.keys()];
  }

  /** Lanes with rows that did not fit. */
  waiting(): string[] {
    return [...this.#lanes].flatMap(([lane, { held }]) => (held > 0 ? [lane] : []));
  }

  get held(): number {
    return [...this.#lanes.values()].reduce((sum, { held }) => sum + held, 0);
  }

  /** For the cursor of a sweep that continues. */
  state(): Record<string, LaneState> {
    return Object.fromEntries([...this.#lanes].map(([lane, state]) => [lane, { ...state }]));
  }
}

/** Messages in a lane. @param lane `<channel>-<lane>` */
export function messagesIn(lane: string, lanes: SweepLanes): Promise<number> {
  const [channel, name] = lane.split('-');
  return lanes.backlog(channel as Channel, name as Lane);
}
