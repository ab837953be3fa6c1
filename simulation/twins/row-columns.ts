import type { Channel } from '../../src/core/model/channels.ts';
import { ERROR_TYPES, type ErrorType } from '../../src/core/model/error-types.ts';
import { type NotificationRow, SEND_STATUSES, type SendStatus } from '../../src/core/model/notification.ts';
import type { Priority } from '../../src/core/model/priorities.ts';
import { parseWorkQueue, type WorkState, workQueueOf } from '../../src/core/model/work-index.ts';

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

export const logIdOf = (row: number) => `n${String(row).padStart(DIGITS, '0')}`;
export const rowOf = (log_id: string) => Number(log_id.slice(1));

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
  readonly #claim_ids = new Map<number, string>();
  /** Columns that few rows have. */
  readonly #others = new Map<number, Record<string, unknown>>();

  constructor(size: number) {
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
    this.set(row, columns);
  }

  routingOf(row: number): Routing {
    const routing = this.routing[this.#routing[row] ?? -1];
    if (routing === undefined) throw new Error(`There is no row ${row}.`);
    return routing;
  }

  workQueue(row: number): string | undefined {
    const state = STATES[this.state[row] ?? 0];
    return state && workQueueOf(state, this.routingOf(row).priority, logIdOf(row));
  }

  queuedFor(row: number): string | undefined {
    const queued = this.#queued_for[row] ?? 0;
    if (queued === 0) return undefined;
    return queued > DAY ? `~${timeOfDay(queued - 1 - DAY).replaceAll(':', '')}` : timeOfDay(queued - 1);
  }

  /** Whether the attempt is still the row's newest one, and claimed. */
  isHeld(row: number, attempt: number): boolean {
    return SEND_STATUSES[this.status[row] ?? 0] === 'SENDING' && this.#last_attempt[row] === attempt;
  }

  /** The row as the core reads it. */
  read(row: number): NotificationRow {
    const work_queue = this.workQueue(row);
    const first_attempt_at = isoOf(this.#first_attempt_at[row]);
    const next_retry_at = isoOf(this.#next_retry_at[row]);
    const claim_until = isoOf(this.#claim_until[row]);
    const claim_id = this.#claim_ids.get(row);
    const work_at = isoOf(this.work_at[row]);
    const error_type = ERROR_TYPES[(this.#error_type[row] ?? 0) - 1];
    const queued_for = this.queuedFor(row);
    return {
      log_id: logIdOf(row),
      ...this.routingOf(row),
      send_status: SEND_STATUSES[this.status[row] ?? 0] ?? 'PENDING',
      send_attempts: this.#send_attempts[row] ?? 0,
      attempts_left: this.#attempts_left[row] ?? 0,
      retry_count: this.#retry_count[row] ?? 0,
      last_attempt: this.#last_attempt[row] ?? 0,
      ...(first_attempt_at !== undefined && { first_attempt_at }),
      ...(next_retry_at !== undefined && { next_retry_at }),
      ...(claim_until !== undefined && { claim_until }),
      ...(claim_id !== undefined && { claim_id }),
      ...(work_queue !== undefined && { work_queue }),
      ...(work_at !== undefined && { work_at }),
      ...(error_type !== undefined && { error_type }),
      ...(queued_for !== undefined && { queued_for }),
      ...this.#others.get(row),
    };
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
        this.state[row] = value === undefined ? 0 : STATES.indexOf(parseWorkQueue(String(value))?.state);
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

const isoOf = (ms = Number.NaN) => (Number.isNaN(ms) ? undefined : new Date(ms).toISOString());
const msOf = (value: unknown) => (typeof value === 'string' && value !== '' ? Date.parse(value) : Number.NaN);
const timeOfDay = (seconds: number) => new Date(seconds * 1000).toISOString().slice(11, 19);
/** A message that is expected, not queued, is kept as a second of the next day. */
const noteOf = (text: string) =>
  text.startsWith('~') ? DAY + secondOfDay(text.slice(1).replace(/(..)(..)/, '$1:$2:')) : secondOfDay(text);
const secondOfDay = (text: string) => Date.parse(`1970-01-01T${text}Z`) / 1000;
