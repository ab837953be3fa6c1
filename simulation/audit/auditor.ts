/**
 * Checks what must hold whatever the pipeline does (the invariants of its design). What a row, a record, a send and an
 * end must be like it asks the promises of the small worlds; itself it counts what the receivers of a million saw. It
 * shares no code with the pipeline: its numbers are copied from the specification.
 */
import { ended, WINDOW_HOURS } from './end-promises.ts';
import * as promises from './promises.ts';

type Stored = promises.Stored;

/** From a claim, which is made within the window, to the request. */
const CLAIM_TO_REQUEST_MS = 30_000;

/** What is known of the newest acceptance of a notification. */
const NONE = 0;
const ACCEPTED = 1;
const RECORDED = 2;
const ORPHANED = 3;
const ANSWER_LOST = 4;
const UNRECORDED = 5;

/** Why a notification may be accepted twice. */
const CAUSES: Readonly<Record<number, string>> = {
  [ORPHANED]: 'a worker died',
  [ANSWER_LOST]: 'an answer got lost',
  [UNRECORDED]: 'all storage refused its record',
};

/** An answer as the worker got it, in epoch milliseconds. */
export interface Answer {
  readonly now: number;
  readonly ok: boolean;
  /** The receiver had accepted, and its answer did not come. */
  readonly lost: boolean;
  /** It was a 5xx. */
  readonly overloaded: boolean;
  /** Refused for a rate that is over when the provider says so. */
  readonly limited: boolean;
  readonly retry_after_ms: number | undefined;
}

/** What the tables and queues hold of a notification when the simulation ends. */
export interface Final {
  readonly row: Stored;
  readonly records: readonly Stored[];
  /** Messages in the dead-letter queues that name it. */
  readonly letters: number;
}

export interface AuditResult {
  readonly violations: number;
  /** The first of each kind, with its notification. */
  readonly examples: readonly string[];
  readonly duplicates: number;
  readonly duplicates_by_cause: Readonly<Record<string, number>>;
}

const SHOWN = 20;

export class Auditor {
  readonly #priority: (row: number) => string;
  readonly #acceptances: Uint8Array;
  readonly #newest: Uint8Array;
  readonly #lastRecord: Int16Array;
  readonly #notBefore: Float64Array;
  readonly #firstClaim: Float64Array;
  /** How often an operator sent each notification again. */
  readonly #redriven: Record<string, number> = {};
  readonly #memory: promises.Memory = { ...promises.NOTHING_YET, redriven: this.#redriven };
  /** The worker that has a request for the row under way. */
  readonly #sending = new Map<number, object>();
  /** Rows that a worker has requested and not recorded yet. */
  readonly #openOf = new Map<object, Set<number>>();
  readonly #holder = new Map<number, object>();
  readonly #dead = new WeakSet<object>();
  readonly #violations: string[] = [];
  #count = 0;
  readonly #causes: Record<string, number> = {};

  /** Milliseconds between the earliest clock of a worker and the latest. */
  readonly #apart: number;

  constructor(size: number, priority: (row: number) => string, apart = 0) {
    this.#apart = apart;
    this.#priority = priority;
    this.#acceptances = new Uint8Array(size);
    this.#newest = new Uint8Array(size);
    this.#lastRecord = new Int16Array(size).fill(-1);
    this.#notBefore = new Float64Array(size);
    this.#firstClaim = new Float64Array(size);
  }

  /** @param last_attempt the number of its newest attempt, of which its writer kept no record; -1 without one */
  given(row: number, last_attempt: number): void {
    this.#lastRecord[row] = last_attempt;
  }

  /** A row that is stored has changed. */
  written(row: number, before: Stored, after: Stored, now: number): void {
    if (after['send_status'] === 'SENDING' && !this.#firstClaim[row]) this.#firstClaim[row] = now;
    this.#judged(
      promises.written(this.#memory, before, after, { by: 'worker', now: now + this.#apart }).violations,
      row,
    );
  }

  /** An operator sends a dead letter again: its window starts anew. */
  redriven(row: number, log_id: string): void {
    this.#firstClaim[row] = 0;
    this.#notBefore[row] = 0;
    this.#redriven[log_id] = (this.#redriven[log_id] ?? 0) + 1;
  }

  /** A message reaches the provider. @param stored its row, and the record before it */
  sent(row: number, send: promises.Send, stored: Stored, before: Stored | undefined): void {
    this.#judged(
      promises.sent(this.#memory, { ...send, apart: this.#apart }, stored, before === undefined ? [] : [before])
        .violations,
      row,
    );
  }

  requested(row: number, worker: object, now: number): void {
    const other = this.#sending.get(row);
    if (other !== undefined && !this.#dead.has(other)) this.#violated('2: two requests overlap', row);
    if (this.#newest[row] === RECORDED) this.#violated('5: sent after it was delivered', row);
    if (now + this.#apart < (this.#notBefore[row] ?? 0)) this.#violated('7: sent before its backoff was over', row);
    const window = (WINDOW_HOURS[this.#priority(row)] ?? 0) * 3_600_000 + CLAIM_TO_REQUEST_MS;
    if (now > (this.#firstClaim[row] ?? 0) + window + this.#apart) this.#violated('7: sent after its deadline', row);
    this.#sending.set(row, worker);
    this.#holder.set(row, worker);
    const open = this.#openOf.get(worker) ?? new Set();
    this.#openOf.set(worker, open.add(row));
  }

  accepted(row: number): void {
    const before = this.#newest[row] ?? NONE;
    if ((this.#acceptances[row] ?? 0) > 0) {
      const cause = CAUSES[before];
      if (cause === undefined) this.#violated('3: a duplicate without a cause', row);
      else this.#causes[cause] = (this.#causes[cause] ?? 0) + 1;
    }
    this.#acceptances[row] = (this.#acceptances[row] ?? 0) + 1;
    this.#newest[row] = ACCEPTED;
    // The worker had died while the request was on its way.
    const worker = this.#sending.get(row);
    if (worker !== undefined && this.#dead.has(worker)) this.#newest[row] = ORPHANED;
  }

  /** The answer reached a worker that lives. */
  answered(row: number, { now, ok, lost, overloaded, limited, retry_after_ms = 0 }: Answer): void {
    this.#sending.delete(row);
    if (lost) this.#newest[row] = ANSWER_LOST;
    const backoff = overloaded ? 2 * promises.BASE_INTERVAL_MS : promises.BASE_INTERVAL_MS;
    const shortest = limited ? 0 : backoff;
    if (!ok) this.#notBefore[row] = now + Math.max(shortest, retry_after_ms);
  }

  recorded(row: number, record: Stored): void {
    const [attempt, status] = [Number(record['retry_attempt']), record['retry_status']];
    this.#judged(promises.recorded(this.#memory, record, 'worker').violations, row);
    const last = this.#lastRecord[row] ?? -1;
    if (attempt !== last && attempt !== last + 1) this.#violated(`6: attempt ${last + 1} has no record`, row);
    this.#lastRecord[row] = attempt;
    if (status === 'SUCCESS' && this.#lacksRecord(row)) this.#newest[row] = RECORDED;
    const worker = this.#holder.get(row);
    if (worker === undefined) return;
    this.#holder.delete(row);
    this.#openOf.get(worker)?.delete(row);
  }

  died(worker: object): void {
    this.#dead.add(worker);
    for (const row of this.#openOf.get(worker) ?? []) {
      if (this.#lacksRecord(row)) this.#newest[row] = ORPHANED;
      // Nobody else knows what it was answered, and so how long to wait.
      this.#notBefore[row] = 0;
      this.#holder.delete(row);
    }
    this.#openOf.delete(worker);
  }

  /** All storage refuses a worker's calls. Until it takes the record, nobody else knows what was accepted. */
  refused(worker: object): void {
    for (const row of this.#openOf.get(worker) ?? []) {
      if (this.#newest[row] === ACCEPTED) this.#newest[row] = UNRECORDED;
    }
  }

  /** A message as it goes into a queue. */
  queued(text: string, row: number): void {
    this.#judged(promises.queued(text), row);
  }

  /** A function threw or logged what is no fault of storage. */
  threw(error: string): void {
    this.#count += 1;
    if (this.#violations.length < SHOWN) this.#violations.push(error);
  }

  finish(row: number, { row: stored, records, letters }: Final): void {
    const log_id = String(stored['log_id']);
    const accepted = this.#acceptances[row] ? { [log_id]: [] } : {};
    const all = Array<unknown>(letters).fill(log_id);
    this.#judged(ended({ ...this.#memory, accepted }, { rows: [stored], records, letters: all }), row);
    const isDead = promises.textOf(stored['work_queue']).startsWith('dead');
    if (letters > (isDead ? 1 : 0)) this.#violated(`11: ${isDead ? 'dead' : 'not dead'}, with ${letters} letters`, row);
  }

  result(): AuditResult {
    const duplicates = Object.values(this.#causes).reduce((sum, count) => sum + count, 0);
    return {
      violations: this.#count,
      examples: this.#violations,
      duplicates,
      duplicates_by_cause: this.#causes,
    };
  }

  /** It was accepted, and its worker, which lives, has not recorded it. */
  #lacksRecord(row: number): boolean {
    return this.#newest[row] === ACCEPTED || this.#newest[row] === UNRECORDED;
  }

  #judged(violations: readonly string[], row: number): void {
    for (const rule of violations) this.#violated(rule, row);
  }

  #violated(rule: string, row: number): void {
    this.#count += 1;
    if (this.#violations.length < SHOWN) this.#violations.push(`invariant ${rule} (notification ${row})`);
  }
}
