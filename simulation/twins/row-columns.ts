import { type Channel, PRIORITIES, type Priority } from '../../src/core/model/channels.ts';
import { ERROR_TYPES, type ErrorType } from '../../src/core/model/error-types.ts';
import { BASE_SHARDS } from '../../src/core/model/index-shards.ts';
import { type NotificationRow, SEND_STATUSES, type SendStatus } from '../../src/core/model/notification.ts';
import { shardOf, type WorkState, workQueueName } from '../../src/core/model/work-index.ts';
import { isoOf, msOf, secondOfDay, textOf } from '../engine/iso-time.ts';

/** What never changes of a notification. */
export interface Routing {
  readonly tenant_id: string;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly integration_config_id?: string;
}

const STATES: readonly (WorkState | undefined)[] = [undefined, 'due', 'dead'];
const DIGITS = 8;
/** Seconds. */
const DAY = 86_400;

const logIds: string[] = [];

export function logIdOf(row: number): string {
  const known = logIds[row];
  if (known !== undefined) return known;
  const made = `n${String(row).padStart(DIGITS, '0')}`;
  logIds[row] = made;
  return made;
}

export function rowOf(log_id: string): number {
  let row = 0;
  for (let i = 1; i < log_id.length; i++) row = row * 10 + log_id.charCodeAt(i) - 48;
  return row;
}

/** Texts for people: no decision reads them, so they are not kept. */
const NOT_KEPT = new Set<string>([
  ...['error_message', 'error_details', 'response_code', 'response_message', 'sent_at', 'updated_at', 'updated_by'],
]);

/** Times and numbers of a million rows: a hundred bytes per row, where objects would take a thousand. */
export class RowColumns {
  readonly routing: Routing[] = [];
  readonly status: Uint8Array;
  readonly state: Uint8Array;
  readonly work_at: Float64Array;
  readonly #send_attempts: Int16Array;
  readonly #attempts_left: Int16Array;
  readonly #retry_count: Int16Array;
  readonly #last_attempt: Int16Array;
  readonly #error_type: Uint8Array;
  readonly #first_attempt_at: Float64Array;
  readonly #next_retry_at: Float64Array;
  readonly #claim_until: Float64Array;
  readonly #queued_for: Uint32Array;
  readonly #routing: Uint16Array;
  readonly #shard: Uint8Array;
  readonly shards: number;
  /** The name of each partition once, in place of a text per row. */
  readonly #queueNames: string[] = [];
  /** Texts of `#queued_for`. */
  readonly #notes: string[] = [];
  readonly #claim_ids = new Map<number, string>();
  /** Columns that few rows have. */
  readonly #others = new Map<number, Record<string, unknown>>();

  /** @param shards partitions per state and priority of the work index */
  constructor(size: number, shards: number = BASE_SHARDS.work) {
    this.shards = shards;
    this.#shard = new Uint8Array(size);
    this.status = new Uint8Array(size);
    this.state = new Uint8Array(size);
    this.work_at = new Float64Array(size).fill(Number.NaN);
    this.#send_attempts = new Int16Array(size);
    this.#attempts_left = new Int16Array(size);
    this.#retry_count = new Int16Array(size);
    this.#last_attempt = new Int16Array(size);
    this.#error_type = new Uint8Array(size);
    this.#first_attempt_at = new Float64Array(size).fill(Number.NaN);
    this.#next_retry_at = new Float64Array(size).fill(Number.NaN);
    this.#claim_until = new Float64Array(size).fill(Number.NaN);
    this.#queued_for = new Uint32Array(size);
    this.#routing = new Uint16Array(size);
  }

  /** @param routing its place in `this.routing` */
  add(row: number, routing: number, columns: Partial<NotificationRow>): void {
    this.#routing[row] = routing;
    this.#shard[row] = shardOf(logIdOf(row), this.shards);
    this.set(row, columns);
  }

  routingOf(row: number): Routing {
    const routing = this.routing[this.#routing[row] ?? -1];
    if (routing === undefined) throw new Error(`There is no row ${row}.`);
    return routing;
  }

  workQueue(row: number): string | undefined {
    const place = this.state[row] ?? 0;
    const state = STATES[place];
    if (state === undefined) return undefined;
    const { priority } = this.routingOf(row);
    const shard = this.#shard[row] ?? 0;
    const name = (place * PRIORITIES.length + PRIORITIES.indexOf(priority)) * this.shards + shard;
    this.#queueNames[name] ??= workQueueName({ state, priority, shard });
    return this.#queueNames[name];
  }

  queuedFor(row: number): string | undefined {
    const queued = this.#queued_for[row] ?? 0;
    if (queued === 0) return undefined;
    this.#notes[queued] ??=
      queued > DAY ? `~${timeOfDay(queued - 1 - DAY).replaceAll(':', '')}` : timeOfDay(queued - 1);
    return this.#notes[queued];
  }

  /** Whether the attempt is still the row's newest one, and claimed. */
  isHeld(row: number, attempt: number): boolean {
    return SEND_STATUSES[this.status[row] ?? 0] === 'SENDING' && this.#last_attempt[row] === attempt;
  }

  /** The row as the core reads it. */
  read(row: number): NotificationRow {
    const { tenant_id, channel, priority, integration_config_id } = this.routingOf(row);
    const read: Writable<NotificationRow> = {
      log_id: logIdOf(row),
      tenant_id,
      channel,
      priority,
      send_status: SEND_STATUSES[this.status[row] ?? 0] ?? 'PENDING',
      send_attempts: this.#send_attempts[row] ?? 0,
      attempts_left: this.#attempts_left[row] ?? 0,
      retry_count: this.#retry_count[row] ?? 0,
      last_attempt: this.#last_attempt[row] ?? 0,
    };
    if (integration_config_id !== undefined) read.integration_config_id = integration_config_id;
    const first_attempt_at = isoOf(this.#first_attempt_at[row]);
    if (first_attempt_at !== undefined) read.first_attempt_at = first_attempt_at;
    const next_retry_at = isoOf(this.#next_retry_at[row]);
    if (next_retry_at !== undefined) read.next_retry_at = next_retry_at;
    const claim_until = isoOf(this.#claim_until[row]);
    if (claim_until !== undefined) read.claim_until = claim_until;
    const claim_id = this.#claim_ids.get(row);
    if (claim_id !== undefined) read.claim_id = claim_id;
    const work_queue = this.workQueue(row);
    if (work_queue !== undefined) read.work_queue = work_queue;
    const work_at = isoOf(this.work_at[row]);
    if (work_at !== undefined) read.work_at = work_at;
    const error_type = ERROR_TYPES[(this.#error_type[row] ?? 0) - 1];
    if (error_type !== undefined) read.error_type = error_type;
    const queued_for = this.queuedFor(row);
    if (queued_for !== undefined) read.queued_for = queued_for;
    const others = this.#others.get(row);
    return others === undefined ? read : { ...read, ...others };
  }

  set(row: number, columns: Partial<NotificationRow>): void {
    for (const name in columns) this.#setOne(row, name, columns[name as keyof NotificationRow]);
  }

  remove(row: number, names: readonly (keyof NotificationRow)[]): void {
    for (const name of names) this.#setOne(row, name, undefined);
  }

  #setOne(row: number, name: string, value: unknown): void {
    if (NOT_KEPT.has(name)) return;
    switch (name) {
      case 'send_status':
        this.status[row] = SEND_STATUSES.indexOf(value as SendStatus);
        return;
      case 'work_queue':
        this.state[row] = value === undefined ? 0 : String(value).startsWith('due#') ? 1 : 2;
        return;
      case 'work_at':
        this.work_at[row] = msOf(value);
        return;
      case 'send_attempts':
        this.#send_attempts[row] = Number(value);
        return;
      case 'attempts_left':
        this.#attempts_left[row] = Number(value);
        return;
      case 'retry_count':
        this.#retry_count[row] = Number(value);
        return;
      case 'last_attempt':
        this.#last_attempt[row] = Number(value);
        return;
      case 'first_attempt_at':
        this.#first_attempt_at[row] = msOf(value);
        return;
      case 'next_retry_at':
        this.#next_retry_at[row] = msOf(value);
        return;
      case 'claim_until':
        this.#claim_until[row] = msOf(value);
        return;
      case 'claim_id':
        if (value) this.#claim_ids.set(row, String(value));
        else this.#claim_ids.delete(row);
        return;
      case 'queued_for':
        this.#queued_for[row] = value === undefined ? 0 : noteOf(String(value)) + 1;
        return;
      case 'error_type':
        this.#error_type[row] = value === undefined ? 0 : ERROR_TYPES.indexOf(value as ErrorType) + 1;
        return;
      default:
        this.#setOther(row, name, value);
    }
  }

  #setOther(row: number, name: string, value: unknown): void {
    const others = { ...this.#others.get(row) };
    if (value === undefined) delete others[name];
    else others[name] = value;
    if (Object.keys(others).length === 0) this.#others.delete(row);
    else this.#others.set(row, others);
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const timeOfDay = (second: number) => textOf(second * 1000).slice(11, 19);
/** A message that is expected, not queued, is kept as a second of the next day. */
const noteOf = (text: string) => (text.startsWith('~') ? DAY + secondOfDay(text, 1, 0) : secondOfDay(text, 0));
