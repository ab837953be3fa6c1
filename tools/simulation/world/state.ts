import type { SweepEvent } from '../../../src/adapters/lambda/events.ts';
import { FUNCTION_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { Refused } from '../../../src/core/delivery/ports.ts';
import type { DeliveryEvent, Feedback } from '../../../src/core/delivery-events/delivery-event.ts';
import type { Channel, Priority } from '../../../src/core/model/channels.ts';
import type { ProviderErrorType } from '../../../src/core/model/error-types.ts';
import type { QueueMessage, ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import type { Kind } from '../../../src/core/operator/operations/operation.ts';
import { type Consumer, NOTHING_TOLD } from '../audit/consumer-promises.ts';
import { type Memory, NOTHING_YET, type Stored } from '../audit/memory.ts';
import type { Call, Moment } from './actor.ts';
import type { Shared } from './worker.ts';

/** What may begin, or happen, in the drawn or explored part of a history. */
export const LIMITS = [
  ...([
    'workers',
    'sweeps',
    'forces',
    'redrives',
    'tells',
    'reports',
    'cancels',
    'retries',
    'wishes',
    'bulks',
    'drops',
    'corrections',
  ] as const),
  ...(['forgeries', 'postpones', 'indexings', 'edits', 'deletions', 'erasures', 'requests'] as const),
  ...(['outages', 'losses', 'intrusions', 'failures', 'verifications', 'backups', 'restorations'] as const),
] as const;
export type Limit = (typeof LIMITS)[number];

/** What the writer of a row does to it, in words. */
export const EDITS = {
  recipient: 'corrects its recipient',
  anew: 'puts it anew',
  limit: 'spoils its limit',
  minute: 'writes its time without seconds',
  decimals: 'writes its time with ten decimals',
} as const;
export type Edit = keyof typeof EDITS;

/** What an operator may do to all that there are, as a job. */
export const BULK = ['redrive', 'retry', 'cancel', 'give_up', 'correct'] as const satisfies readonly Kind[];

/** A notification that is there at the start. */
export interface Given {
  readonly priority: Priority;
  /** Whose it is; all share one integration. */
  readonly tenant?: string;
  /** The provider's first answers; it accepts after them. `uncertain`: it accepts, and its answer is lost. */
  readonly script: readonly (ProviderErrorType | Refused | 'uncertain')[];
  /** Each send of it kills its worker, once the provider has it. */
  readonly poison?: boolean;
  /** It names a fallback channel. */
  readonly fallback?: boolean;
  /** Written by another program, in the clear and without index keys: the indexer takes it in. */
  readonly foreign?: boolean;
  /** Hours since it was handed over, without a send; a minute unless given. */
  readonly hours?: number;
}

/** A small world: what there is at its start, what may happen in it, and how often. */
export interface Scope extends Shared, Partial<Readonly<Record<Limit, number>>> {
  /** Beside what ends well: refusals, lost answers, deaths, repeats, a second delivery, time that passes meanwhile. */
  readonly faults: number;
  /** Notifications n1, n2, …; one of priority info unless given. */
  readonly given?: readonly Given[];
  /** Messages per row in the lane at the start, of different sweeps; 1 unless given. */
  readonly messages?: number;
  /** Messages that an invocation may take together; 1 unless given. */
  readonly batch?: number;
  /** What the provider reports of each acceptance, and what it may report at any time. */
  readonly feedback?: Feedback;
  readonly feedbacks?: readonly Feedback[];
  /** Before SQS moves a message to the dead-letter queue; as deployed unless given. */
  readonly receives?: number;
  /** Beginnings of the ports whose calls may hang, each call by itself. */
  readonly hangs?: readonly string[];
  /** Those that may fail every call, until they work again. */
  readonly breakdowns?: readonly Breakdown[];
  /** The sweeps that may begin; only one over the priority info unless given. */
  readonly sweepers?: readonly SweepEvent[];
  /** Sweeps see the lanes, keep them short, and remember the sweeps before them. */
  readonly lanes?: Lanes;
  /** Each call takes a millisecond; else time stands still, so that histories that only differ in it are one. */
  readonly ticks?: boolean;
  /** Milliseconds by which the clock of an instance may be wrong: each has one of these. */
  readonly clocks?: readonly number[];
  /** The work index may be one write behind its table. */
  readonly stale?: boolean;
  /** Those of the dispatcher, when the stage's list of channels is being changed; the workers have all. */
  readonly channels?: readonly Channel[];
  /** What a row's writer may do to it; corrects its recipient unless given. */
  readonly edited?: readonly Edit[];
  /** What an operator may do to all; each kind unless given. */
  readonly bulk?: readonly Kind[];
  /** What a producer may report of sends of its own. */
  readonly failed?: readonly ProviderErrorType[];
  /** Rows that somebody may put into the table, with index keys of their own. */
  readonly intruders?: readonly Stored[];
}

/** The messages that a lane may hold whatever it takes, and milliseconds from a sweep to the next one. */
export interface Lanes {
  /** Whose lanes may hold messages: those of others are not asked. */
  readonly seen: readonly Channel[];
  readonly least: number;
  readonly interval_ms: number;
}

type Breakdown = `${string} answers no call` | `${string} refuses every call`;

export const ONE: Given = { priority: 'info', script: [] };
export const INFO: SweepEvent = { priority: 'info' };

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
  /** Of its batch when it received it: those of which an attempt may come. */
  readonly sendable?: number;
  /** And the others, as long as nobody puts their rows anew. */
  readonly letters?: readonly { readonly id: string; readonly log_id: string }[];
  /** Pages of the work index that it has read. */
  readonly pages?: number;
}

/** A call that was sent, and whose caller waits no longer. */
export interface LateCall {
  readonly by: string;
  readonly call: Call;
}

/** A call that is not answered until its limit. */
interface HungCall {
  readonly by: string;
  readonly id: number;
  readonly until: number;
}

/** Messages of each channel in its DLQ and in its lanes. */
export type LetterCounts = Readonly<Record<string, { readonly letters: number; readonly on_the_way: number }>>;

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
  readonly broken: readonly Breakdown[];
  /** The provider refuses every send. */
  readonly down: boolean;
  readonly events: readonly OwedEvent[];
  /** Rows as they were before their last change, where the work index may be behind. */
  readonly former: Readonly<Record<string, Stored>>;
  /** Of rows that others wrote, until the indexer has dealt with them. */
  readonly stream: readonly Image[];
  /** How often each may still begin, or happen. */
  readonly left: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly memory: Memory;
  readonly consumer: Consumer;
  /** The rows that must not expire unsent, since the faults ended, and the sends of each by then. */
  readonly waiting?: { readonly log_ids: readonly unknown[]; readonly counts: Readonly<Record<string, number>> };
  /** When the log was copied, and the rows that were lost since and are being restored: the stage is stopped so long. */
  readonly copied_at?: string;
  readonly lost?: readonly Stored[] | undefined;
  /** The rows of which nothing but themselves said how they stood, or whose content or records are lost for good. */
  readonly alone?: readonly string[];
  /** Which table was lost. */
  readonly lostTable?: 'log' | 'content' | 'records';
  /** The rows that were dead when nothing was left to do, and all letters were redriven. */
  readonly dead?: readonly Stored[];
  readonly violations: readonly string[];
}

/** A world before anything is in it. */
export const NOTHING: Omit<State, 'faults' | 'left'> = {
  now: START_MS,
  queue: [],
  letters: [],
  actors: [],
  late: [],
  hung: [],
  broken: [],
  events: [],
  stream: [],
  violations: [],
  down: false,
  counts: {},
  former: {},
  memory: NOTHING_YET,
  consumer: NOTHING_TOLD,
};

export type Saved = { readonly state: State; readonly tables: readonly (readonly (readonly [string, unknown])[])[] };

export function received({ id, message, sent_at, receives }: Message): ReceivedMessage {
  return { message, message_id: id, sent_at: new Date(sent_at), receive_count: receives };
}

/** When Lambda ends the actor's invocation. The dispatcher goes on in another one, which is left out here; a command waits. */
export function deadlineOf({ name, begun }: Actor): number {
  return /^(sweep|manual|dry|the erasure|the verification|the bulk|the restoration)/.test(name)
    ? Number.POSITIVE_INFINITY
    : begun + FUNCTION_MS;
}

/** An instance between two invocations. */
export const isIdle = ({ moment }: Actor): boolean => moment.calls.some(({ port }) => port === 'instance.next');

/** By how much the clock of its instance is wrong. */
export function offsetOf(name: string, { clocks }: Pick<Scope, 'clocks'>): number {
  if (clocks === undefined) return 0;
  const sum = Array.from(name, (letter, i) => letter.charCodeAt(0) * (i + 1)).reduce((a, b) => a + b, 0);
  return clocks[sum % clocks.length] ?? 0;
}
