import type { DeliveryEvent } from '../../../src/core/delivery-events/delivery-event.ts';
import type { Channel, Lane } from '../../../src/core/model/channels.ts';
import { type QueuedMessage, type QueueMessage, runOf } from '../../../src/core/model/queue-message.ts';
import * as actors from '../audit/actor-promises.ts';
import * as outcomes from '../audit/consumer-promises.ts';
import * as ends from '../audit/end-promises.ts';
import type { Stored } from '../audit/memory.ts';
import * as promises from '../audit/promises.ts';
import type { Call, Numbers, Outcome } from './actor.ts';
import { isKnown, lettersOf, messagesIn } from './counts.ts';
import { grantOf } from './endings.ts';
import { asked, correctedByOperator, tellAt } from './provider.ts';
import {
  type Actor,
  type Given,
  type Image,
  isIdle,
  type Message,
  ONE,
  offsetOf,
  type Saved,
  type Scope,
  type State,
} from './state.ts';
import { passesFilter, Stores, toldOf } from './stores.ts';

const WORKERS_AT_ONCE = 2;

/** What all actors share: tables, lane, provider, clock; and the promises, which watch each effect on them. */
export class Ground {
  readonly scope: Scope;
  /** By notification. The provider takes a successor, and what comes from a producer. */
  readonly given: ReadonlyMap<string, Given>;
  /** Milliseconds between the earliest clock and the latest. */
  readonly apart: number;
  readonly #stores: Stores;
  readonly tables: Stores['tables'];
  readonly backup: Stores['backup'];
  readonly breakers: Stores['breakers']['breakers'];
  state: State;

  constructor(scope: Scope, state: State) {
    this.scope = scope;
    this.#stores = new Stores(
      () => new Date(this.state.now),
      () => this.count('draws') / 36 ** 6,
      scope.channels,
    );
    this.tables = this.#stores.tables;
    this.backup = this.#stores.backup;
    this.breakers = this.#stores.breakers.breakers;
    this.given = new Map((scope.given ?? [ONE]).map((given, i) => [`n${i + 1}`, given]));
    this.state = state;
    const { clocks = [0] } = scope;
    this.apart = Math.max(...clocks) - Math.min(...clocks);
  }
  #rowOf = (log_id: unknown): Stored => this.tables.log.get(String(log_id)) ?? { log_id };
  save(): Saved {
    return { state: this.state, tables: this.#stores.maps.map((table) => [...table]) };
  }

  restore({ state, tables }: Saved): void {
    this.state = state;
    this.#stores.maps.forEach((table, i) => {
      table.clear();
      for (const [key, value] of tables[i] ?? []) table.set(key, value);
    });
  }

  /** All that decides what can still happen, except how many faults may. */
  key(numbers: Numbers): string {
    const { now, queue, letters, actors, late, hung, events, stream, left, memory, counts, dead = [] } = this.state;
    const { broken, down, former, consumer, copied_at, lost } = this.state;
    const all = (values: Iterable<unknown>) =>
      Array.from(values, (one) => numbers.of(one))
        .sort((a, b) => a - b)
        .join();
    const who = actors.map(({ name, moment, begun, slow }) => `${name} ${moment.id} ${begun} ${slow}`).sort();
    const lists = [queue, letters, late, hung, events, stream, dead];
    const data = [...this.#stores.maps.map((table) => table.values()), ...lists].map(all);
    return `${now} ${data.join('|')}|${who}|${[left, memory, counts, former, consumer].map((one) => numbers.of(one))}|${broken}${down}${copied_at}${lost?.length}`;
  }

  set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
  }

  count(what: string): number {
    const count = (this.state.counts[what] ?? 0) + 1;
    this.set({ counts: { ...this.state.counts, [what]: count } });
    return count;
  }

  violated(...what: readonly string[]): void {
    if (what.length > 0) this.set({ violations: [...this.state.violations, ...what] });
  }

  /** When the actor was answered last, by the world's clock. */
  answered({ name, moment }: Actor): number {
    return moment.now - offsetOf(name, this.scope);
  }

  /** A page of the work index before the last change of each row. */
  async performStale({ port, args }: Call): Promise<Outcome> {
    const now = [...this.tables.log];
    for (const [log_id, row] of Object.entries(this.state.former)) this.tables.log.set(log_id, row);
    const ok = await this.#stores.call(port, args);
    for (const [log_id, row] of now) this.tables.log.set(log_id, row);
    return { ok };
  }

  judge({ violations, ...known }: Pick<State, 'violations'> & Partial<State>): void {
    this.set(known);
    this.violated(...violations);
  }

  /** A millisecond later than it was sent, so that the order of a death and a message shows in their times. */
  send(message: QueueMessage, delay_seconds: number): void {
    this.violated(...promises.queued(JSON.stringify(message)));
    const name = `${message.log_id}/${runOf(message.run_id)}`;
    const { now, queue } = this.state;
    const times = { sent_at: now + 1, visible_at: now + delay_seconds * 1000 };
    this.set({ queue: [...queue, { id: `${name}/${this.count(name)}`, message, ...times, receives: 0 }] });
  }

  updateMessage(id: string, change: Partial<Message>): void {
    this.set({ queue: this.state.queue.map((one) => (one.id === id ? { ...one, ...change } : one)) });
  }

  drop(id: string): void {
    this.set({ queue: this.state.queue.filter((one) => one.id !== id) });
  }

  /** Applies a call. @param late its caller waits no longer */
  async perform(by: string, { port, args }: Call, late = false): Promise<Outcome> {
    const before = new Map(this.tables.log);
    const { queue } = this.state;
    if (this.scope.ticks) this.set({ now: this.state.now + 1 });
    try {
      return { ok: await this.#effect(by, port, args, late) };
    } catch (error) {
      // Of ours, and not an answer of a table.
      if (error instanceof TypeError) this.violated(`the world failed: ${error.stack}`);
      return { error: error as Error };
    } finally {
      const changed = this.#watch(by, port, args, before) || this.state.queue !== queue;
      const { sendable = 0, letters = [], pages = 0 } = this.state.actors.find(({ name }) => name === by) ?? {};
      const anew = letters.filter(({ id, log_id }) => !actors.isLetter(before.get(log_id), id)).length;
      this.violated(...actors.acted({ by, port, args, changed, pages }, late ? Infinity : sendable + anew));
    }
  }

  async #effect(by: string, port: string, args: readonly unknown[], late: boolean): Promise<unknown> {
    const { now } = this.state;
    switch (port) {
      case 'retries.send':
        return this.send(args[0] as QueueMessage, args[1] as number);
      case 'lanes.send':
        for (const { message, delay_seconds } of args[0] as QueuedMessage[]) this.send(message, delay_seconds);
        return undefined;
      case 'provider.send':
        return asked(this, by, args as [string, number, string], late);
      case 'budget.reserve':
        return grantOf(args[0], now);
      case 'queue.delete':
        return this.set({ queue: this.state.queue.filter(({ id }) => !(args[0] as string[]).includes(id)) });
      case 'queue.giveBack':
        for (const { receipt_handle, after_seconds } of args[0] as { receipt_handle: string; after_seconds: number }[])
          this.updateMessage(receipt_handle, { visible_at: now + after_seconds * 1000 });
        return 0;
      case 'event.end':
        return tellAt(this, args[0] as DeliveryEvent, args[1] === null ? null : now + Number(args[1]) * 1000);
      case 'stream.end':
        return this.set({ stream: without(this.state.stream, args[0] as Image[]) });
      case 'lanes.backlog':
        return messagesIn(this.state, args[0] as Channel, args[1] as Lane);
      case 'audit.letters':
        return lettersOf(this.state);
      case 'audit.isKnown':
        return isKnown(String(args[0]), this.#rowOf(args[1]), this.state);
      case 'corrections.correct':
        return correctedByOperator(this, args, () => this.#stores.call(port, args));
      case 'operator.erased':
        return this.set({ memory: promises.erased(this.state.memory, this.#rowOf(args[0])) });
      case 'producer.accepted':
        return this.set({ memory: promises.handedOver(this.state.memory, String(args[0])) });
      case 'operator.restored':
      case 'time.pause':
      case 'time.timer':
        return undefined;
      default:
        return this.#stores.call(port, args);
    }
  }

  readonly rows = (): Stored[] => [...this.tables.log.values()];

  /** One message, or with batches all that can be received together. */
  batches(): (readonly Message[])[] {
    const { actors, queue, now } = this.state;
    const working = actors.filter((actor) => actor.name.startsWith('worker') && !isIdle(actor));
    if (working.length >= WORKERS_AT_ONCE) return [];
    const visible = queue.filter(({ visible_at }) => visible_at <= now);
    const together = visible.slice(0, this.scope.batch ?? 1);
    return [...visible.map((one) => [one]), ...(together.length > 1 ? [together] : [])];
  }

  /** Nobody works any more: what waits, waits for something that is there. */
  checkWaiting(): void {
    const { queue, actors, late } = this.state;
    const { losses = 0 } = this.scope;
    if (actors.some((actor) => !isIdle(actor)) || late.length > 0 || losses > 0) return;
    const messages = queue.map(({ message }) => message);
    this.violated(...ends.waitingForNothing(this.rows(), messages));
  }

  recordsOf(log_id: string): Stored[] {
    return [...this.tables.retryLog.values()]
      .filter(({ original_log_id }) => original_log_id === log_id)
      .map((record) => ({ ...record }));
  }

  /** @returns whether a row or a record is another one than before */
  #watch(by: string, port: string, args: readonly unknown[], before: ReadonlyMap<string, Stored>): boolean {
    const records = /^records\.(put|replace)/.test(port);
    const [record] = args as readonly Stored[];
    if (records && record)
      this.judge(promises.recorded(this.state.memory, record, by, this.#rowOf(record['original_log_id'])));
    const changed = [...this.tables.log].filter(([log_id, row]) => before.get(log_id) !== row);
    for (const [log_id, row] of changed) {
      const was = before.get(log_id);
      const predecessor = this.tables.log.get(promises.textOf(row['predecessor_log_id']));
      this.judge(promises.written(this.state.memory, was, row, { by, now: this.state.now + this.apart, predecessor }));
      if (was !== undefined && this.scope.stale) this.set({ former: { ...this.state.former, [log_id]: was } });
      this.show(row);
    }
    return records || changed.length > 0;
  }

  /** The streams show the row, to the indexer unless its filter leaves it out. */
  show(row: Stored): void {
    this.judge(outcomes.heard(this.state.consumer, row, toldOf(row)));
    if (!this.scope.indexings || !passesFilter(row)) return;
    this.set({ stream: [...this.state.stream, { row, sequence: String(this.count('images')) }] });
  }
}

const without = (images: readonly Image[], done: readonly Image[]) =>
  images.filter(({ sequence }) => !done.some((one) => one.sequence === sequence));
