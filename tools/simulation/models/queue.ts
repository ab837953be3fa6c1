import { isNoisy } from '../../../src/local/stand-ins/fair-groups.ts';
import type { VirtualTime } from '../engine/virtual-time.ts';

/** A message as the queue keeps it; times in epoch milliseconds. */
export interface StoredMessage<M> {
  readonly id: number;
  readonly message: M;
  readonly sent_at: number;
  receives: number;
  visible_at: number;
}

/** A message as a function gets it. */
export interface Received<M> {
  readonly message: M;
  readonly message_id: string;
  readonly sent_at: Date;
  readonly receive_count: number;
}

export interface QueueOptions<M> {
  readonly visibility_ms: number;
  readonly max_receives: number;
  /** MessageGroupId. */
  readonly groupOf: (message: M) => string;
}

/** Received and not deleted: SQS gives out no more messages. */
const MOST_IN_FLIGHT = 120_000;

/** SQS takes and gives ten messages per request. */
export const requestsFor = (messages: number): number => Math.max(1, Math.ceil(messages / 10));

/** The messages of one group that can be received, and how many of it are in flight. */
interface Group<M> {
  readonly visible: Fifo<StoredMessage<M>>;
  inFlight: number;
}

/** A standard SQS queue with its dead-letter queue: delays, visibility, receive counts, fair groups, the limit in flight. */
export class SimulatedQueue<M> {
  readonly #time: VirtualTime;
  readonly #options: QueueOptions<M>;
  readonly #groups = new Map<string, Group<M>>();
  readonly #inFlight = new Map<number, StoredMessage<M>>();
  readonly deadLetters: StoredMessage<M>[] = [];
  /** Called when a message can be received. */
  onVisible: () => void = () => {};
  visible = 0;
  delayed = 0;
  requests = 0;
  #serial = 0;
  #batch = { at: -1, size: 0 };

  constructor(time: VirtualTime, options: QueueOptions<M>) {
    this.#time = time;
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** @param delay_seconds 0…900 */
  send(message: M, delay_seconds: number): void {
    if (delay_seconds > 900) throw new Error(`SQS delays a message by at most 900 s, not by ${delay_seconds}.`);
    const now = this.#time.now;
    // Ten messages of the same moment share a request.
    if (this.#batch.at !== now || this.#batch.size === 10) {
      this.#batch = { at: now, size: 0 };
      this.requests += 1;
    }
    this.#batch.size += 1;
    this.#show({ id: ++this.#serial, message, sent_at: now, receives: 0, visible_at: now + delay_seconds * 1000 });
  }

  receive(max: number): Received<M>[] {
    const received: Received<M>[] = [];
    while (received.length < max && this.#inFlight.size < MOST_IN_FLIGHT) {
      const group = this.#next();
      const stored = group?.visible.shift();
      if (group === undefined || stored === undefined) break;
      this.visible -= 1;
      if (stored.receives >= this.#options.max_receives) {
        this.deadLetters.push(stored);
        continue;
      }
      stored.receives += 1;
      group.inFlight += 1;
      this.#inFlight.set(stored.id, stored);
      this.#returnLater(stored, this.#options.visibility_ms);
      const { message, sent_at, receives } = stored;
      const message_id = String(stored.id);
      received.push({ message, message_id, sent_at: new Date(sent_at), receive_count: receives });
    }
    this.requests += requestsFor(received.length);
    return received;
  }

  delete(message_id: string): void {
    const stored = this.#inFlight.get(Number(message_id));
    if (stored !== undefined) this.#land(stored);
  }

  returnAfter(message_id: string, seconds: number): void {
    const stored = this.#inFlight.get(Number(message_id));
    if (stored !== undefined) this.#returnLater(stored, seconds * 1000);
  }

  /** When the oldest visible message became visible; undefined when there is none. */
  oldestVisible(): number | undefined {
    let oldest: number | undefined;
    for (const { visible } of this.#groups.values()) {
      const at = visible.peek()?.visible_at;
      if (at !== undefined && (oldest === undefined || at < oldest)) oldest = at;
    }
    return oldest;
  }

  /** Sends the oldest dead letters again, as new messages with the old bodies. @returns how many */
  redrive(most: number): number {
    const letters = this.deadLetters.splice(0, most);
    for (const { message } of letters) this.send(message, 0);
    return letters.length;
  }

  #land(stored: StoredMessage<M>): void {
    this.#inFlight.delete(stored.id);
    this.#group(this.#options.groupOf(stored.message)).inFlight -= 1;
  }

  /** Only the newest visibility of a message counts. */
  #returnLater(stored: StoredMessage<M>, ms: number): void {
    const at = this.#time.now + ms;
    stored.visible_at = at;
    this.#time.at(at, () => {
      if (stored.visible_at !== at || !this.#inFlight.has(stored.id)) return;
      this.#land(stored);
      this.#makeVisible(stored);
    });
  }

  #show(stored: StoredMessage<M>): void {
    if (stored.visible_at <= this.#time.now) {
      this.#makeVisible(stored);
      return;
    }
    this.delayed += 1;
    this.#time.at(stored.visible_at, () => {
      this.delayed -= 1;
      this.#makeVisible(stored);
    });
  }

  #makeVisible(stored: StoredMessage<M>): void {
    this.visible += 1;
    this.#group(this.#options.groupOf(stored.message)).visible.push(stored);
    this.onVisible();
  }

  #group(name: string): Group<M> {
    const there = this.#groups.get(name);
    if (there !== undefined) return there;
    const made = { visible: new Fifo<StoredMessage<M>>(), inFlight: 0 };
    this.#groups.set(name, made);
    return made;
  }

  /** The group of the oldest message, quiet groups first. */
  #next(): Group<M> | undefined {
    let best: Group<M> | undefined;
    let [bestNoisy, bestAt] = [true, Number.POSITIVE_INFINITY];
    for (const group of this.#groups.values()) {
      const at = group.visible.peek()?.visible_at;
      if (at === undefined) continue;
      const noisy = isNoisy(group.inFlight, this.#inFlight.size);
      if (bestNoisy === noisy ? at < bestAt : bestNoisy) [best, bestNoisy, bestAt] = [group, noisy, at];
    }
    return best;
  }
}

/** A first-in, first-out list whose head is taken in constant time. */
class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#head++];
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
