import type { DeliveryEvent } from '../../src/core/delivery-events/delivery-event.ts';
import type { QueueMessage, ReceivedMessage } from '../../src/core/model/queue-message.ts';
import { type Memory, NOTHING_YET, type Stored } from '../audit/promises.ts';
import type { Call, Moment } from './actor.ts';

export const START_MS = Date.parse('2026-03-01T10:30:00.000Z');

export interface Message {
  readonly id: string;
  readonly message: QueueMessage;
  readonly sent_at: number;
  readonly visible_at: number;
  readonly receives: number;
}

export interface Actor {
  readonly name: string;
  readonly moment: Moment;
  /** Of its invocation, in epoch milliseconds. */
  readonly begun: number;
  /** Time has passed in its invocation while it waited for something else than time. */
  readonly slow?: true;
}

/** A call that was sent, and whose caller waits no longer. */
export interface LateCall {
  readonly by: string;
  readonly call: Call;
}

/** A call that is not answered until its limit. */
export interface HungCall {
  readonly by: string;
  readonly id: number;
  readonly until: number;
}

/** A row as the table's stream shows it to the indexer. */
export interface Image {
  readonly row: Stored;
  readonly sequence: string;
}

interface OwedEvent {
  readonly event: DeliveryEvent;
  /** When it is told, or told again; null once it is applied. */
  readonly at: number | null;
}

/** All of the world but its tables. Never changed in place, so that saving it costs nothing. */
export interface State {
  readonly now: number;
  readonly faults: number;
  readonly queue: readonly Message[];
  readonly letters: readonly Message[];
  readonly actors: readonly Actor[];
  readonly late: readonly LateCall[];
  readonly hung: readonly HungCall[];
  /** Beginnings of the ports that answer no call now. */
  readonly silent: readonly string[];
  readonly events: readonly OwedEvent[];
  /** Of rows that others wrote, until the indexer has dealt with them. */
  readonly stream: readonly Image[];
  /** How often each may still begin, or happen. */
  readonly left: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly memory: Memory;
  /** The rows that were dead when nothing was left to do, and all letters were redriven. */
  readonly dead?: readonly Stored[];
  readonly violations: readonly string[];
}

/** A world before anything is in it. */
export const NOTHING: Omit<State, 'faults' | 'left'> = {
  now: START_MS,
  ...{ queue: [], letters: [], actors: [], late: [], hung: [], silent: [], events: [], stream: [], violations: [] },
  counts: {},
  memory: NOTHING_YET,
};

export type Saved = { readonly state: State; readonly tables: readonly (readonly (readonly [string, unknown])[])[] };

export function received({ id, message, sent_at, receives }: Message): ReceivedMessage {
  return { message, message_id: id, sent_at: new Date(sent_at), receive_count: receives };
}

/** An instance between two invocations. */
export function isIdle({ moment }: Actor): boolean {
  return moment.calls.length === 1 && moment.calls[0]?.port === 'instance.next';
}
