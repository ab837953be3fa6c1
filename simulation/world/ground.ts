import { STATE_COLUMNS } from '../../src/adapters/dynamodb/table/guarded-columns.ts';
import { MemoryBreakers } from '../../src/adapters/memory/memory-breakers.ts';
import { createMemoryIntake } from '../../src/adapters/memory/memory-intake.ts';
import { MemoryTables } from '../../src/adapters/memory/memory-tables.ts';
import { FUNCTION_MS } from '../../src/core/delivery/policy/attempt-times.ts';
import type { DeliveryEvent } from '../../src/core/delivery-events/delivery-event.ts';
import type { IntakeRecord } from '../../src/core/intake/ports.ts';
import type { QueuedMessage } from '../../src/core/model/lanes.ts';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { type QueueMessage, runOf } from '../../src/core/model/queue-message.ts';
import type { RowChange } from '../../src/core/model/row-change.ts';
import * as promises from '../audit/promises.ts';
import type { Call, Numbers, Outcome } from './actor.ts';
import { grantOf } from './endings.ts';
import type { Scope } from './scope.ts';
import type { Image, Message, Saved, State } from './state.ts';
import { passesFilter } from './stream.ts';

/** What all actors share: tables, lane, provider, clock; and the promises, which watch each effect on them. */
export class Ground {
  readonly scope: Scope;
  readonly tables = new MemoryTables(() => new Date(this.state.now));
  readonly breakers = new MemoryBreakers();
  readonly #requests = new Map<string, IntakeRecord>();
  readonly #intake = createMemoryIntake(this.tables, this.#requests);
  state: State;

  constructor(scope: Scope, state: State) {
    this.scope = scope;
    this.state = state;
  }

  get #maps(): Map<string, unknown>[] {
    const { log, retryLog, content } = this.tables;
    return [log, retryLog, content, this.breakers.breakers, this.#requests] as Map<string, unknown>[];
  }

  save(): Saved {
    return { state: this.state, tables: this.#maps.map((table) => [...table]) };
  }

  restore({ state, tables }: Saved): void {
    this.state = state;
    this.#maps.forEach((table, i) => {
      table.clear();
      for (const [key, value] of tables[i] ?? []) table.set(key, value);
    });
  }

  /** All that decides what can still happen, except how many faults may. */
  key(numbers: Numbers): string {
    const {
      now,
      queue,
      letters,
      actors,
      late,
      hung,
      events,
      stream,
      left,
      memory,
      counts,
      silent,
      dead = [],
    } = this.state;
    const all = (values: Iterable<unknown>) =>
      Array.from(values, (one) => numbers.of(one as object))
        .sort(ascending)
        .join();
    const who = actors.map(({ name, moment, begun, slow }) => `${name} ${moment.id} ${begun} ${slow}`).sort();
    const data = [...this.#maps.map((table) => table.values()), queue, letters, late, hung, events, stream, dead].map(
      all,
    );
    return `${now} ${data.join('|')}|${who}|${[left, memory, counts, silent].map((one) => numbers.of(one))}`;
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

  #judge({ memory, violations }: promises.Judged): void {
    this.set({ memory });
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

  tellAt(told: DeliveryEvent, at: number | null): void {
    const same = (one: DeliveryEvent) =>
      one.log_id === told.log_id && one.attempt === told.attempt && one.at === told.at;
    this.set({ events: this.state.events.map((one) => (same(one.event) ? { ...one, at } : one)) });
  }

  /** Applies a call. @param late its caller waits no longer */
  async perform(by: string, { port, args }: Call, late = false): Promise<Outcome> {
    const before = new Map(this.tables.log);
    try {
      return { ok: await this.#effect(by, port, args, late) };
    } catch (error) {
      return { error: error as Error };
    } finally {
      this.#watch(by, port, args, before);
    }
  }

  async #effect(by: string, port: string, args: readonly unknown[], late: boolean): Promise<unknown> {
    const { now } = this.state;
    switch (port) {
      case 'operatorRows.read':
        return this.tables.row(args[0] as string);
      case 'operatorRows.change': {
        const [was, change] = args as [NotificationRow, RowChange];
        // An operator's command compares the state alone.
        const seen = Object.fromEntries(STATE_COLUMNS.map((name) => [name, was[name]]));
        return this.tables.rows.change({ ...(this.tables.row(was.log_id) ?? was), ...seen }, change);
      }
      case 'retries.send':
        return this.send(args[0] as QueueMessage, args[1] as number);
      case 'lanes.send':
        for (const { message, delay_seconds } of args[0] as QueuedMessage[]) this.send(message, delay_seconds);
        return undefined;
      case 'provider.send':
        return this.#provider(by, args as [string, number, string], late);
      case 'budget.reserve':
        return grantOf(args[0], now);
      case 'queue.delete':
        return this.set({ queue: this.state.queue.filter(({ id }) => !(args[0] as string[]).includes(id)) });
      case 'queue.giveBack':
        for (const { receipt_handle, after_seconds } of args[0] as { receipt_handle: string; after_seconds: number }[])
          this.updateMessage(receipt_handle, { visible_at: now + after_seconds * 1000 });
        return 0;
      case 'event.end':
        return this.tellAt(args[0] as DeliveryEvent, args[1] === null ? null : now + Number(args[1]) * 1000);
      case 'stream.end': {
        const done = (args[0] as Image[]).map(({ sequence }) => sequence);
        return this.set({ stream: this.state.stream.filter(({ sequence }) => !done.includes(sequence)) });
      }
      case 'producer.accepted':
        return this.set({ memory: promises.handedOver(this.state.memory, String(args[0])) });
      case 'time.pause':
      case 'time.timer':
        return undefined;
      default:
        return this.#stored(port, args);
    }
  }

  #stored(port: string, args: readonly unknown[]): Promise<unknown> {
    const [room = '', method = ''] = port.split('.');
    const { tables, breakers } = this;
    const rooms: Record<string, object> = {
      rows: tables.rows,
      eventRows: tables.eventRows,
      records: tables.records,
      contents: tables.contents,
      successors: tables.successors,
      index: tables.dueIndex,
      malformed: tables.malformed,
      breakers: breakers.store,
      intake: this.#intake,
    };
    if (port === 'indexing.index') return tables.index(...(args as Parameters<MemoryTables['index']>));
    if (port === 'indexing.putContent') return tables.putContent(...(args as Parameters<MemoryTables['putContent']>));
    if (port === 'indexing.hasContent') return tables.hasContent(String(args[0]));
    const found = (rooms[room] as Record<string, (...args: readonly unknown[]) => Promise<unknown>> | undefined)?.[
      method
    ];
    if (found === undefined) throw new Error(`The world has no ${port}.`);
    return found(...args);
  }

  #provider(by: string, [log_id, attempt, recipient]: [string, number, string], late: boolean): unknown {
    // No two attempts end in the same millisecond.
    this.set({ now: this.state.now + 1 });
    const { now } = this.state;
    const sender = this.state.actors.find(({ name }) => name === by);
    const left_ms = sender === undefined || sender.slow ? FUNCTION_MS : sender.begun + FUNCTION_MS - now;
    const send = { log_id, attempt, by, recipient, now, late, left_ms };
    this.#judge(promises.sent(this.state.memory, send, this.tables.log.get(log_id), this.recordsOf(log_id)));
    const number = this.count(`sends of ${log_id}`);
    // A successor's channel works.
    const error_type = log_id.includes('fallback') ? undefined : this.scope.script?.[number - 1];
    if (error_type !== undefined) return { ok: false, error_type, message: 'refused' };
    this.#judge(promises.accepted(this.state.memory, send));
    const provider_message_id = `p${attempt}`;
    const { feedback } = this.scope;
    if (feedback !== undefined) {
      const event = { log_id, attempt, at: new Date(now).toISOString(), provider_message_id, feedback };
      this.set({ events: [...this.state.events, { event, at: now }] });
    }
    return { ok: true, response_code: '200', provider_message_id };
  }

  rows(): promises.Stored[] {
    return [...this.tables.log.values()];
  }

  recordsOf(log_id: string): promises.Stored[] {
    return [...this.tables.retryLog.values()]
      .filter(({ original_log_id }) => original_log_id === log_id)
      .map((record) => ({ ...record }));
  }

  #watch(by: string, port: string, args: readonly unknown[], before: ReadonlyMap<string, promises.Stored>): void {
    if (/^records\.put/.test(port)) this.#judge(promises.recorded(this.state.memory, args[0] as promises.Stored, by));
    for (const [log_id, row] of this.tables.log) {
      const was = before.get(log_id);
      if (was === row) continue;
      if (was !== undefined) this.#judge(promises.written(this.state.memory, was, row, { by, now: this.state.now }));
      this.show(row);
    }
  }

  /** The stream shows the row to the indexer, unless its filter leaves it out. */
  show(row: promises.Stored): void {
    const { foreign, edits } = this.scope;
    if ((foreign === undefined && edits === undefined) || !passesFilter(row)) return;
    const sequence = String(this.count('images'));
    this.set({ stream: [...this.state.stream, { row, sequence }] });
  }
}

function ascending(a: number, b: number): number {
  return a - b;
}
