/**
 * Checks what must hold whatever the pipeline does (the invariants of its design), by what the simulated receivers and
 * tables saw. It shares no code with the pipeline: its numbers are copied from the specification.
 */

/** Hours from the first attempt in which a retry may be made, and retries: batch-952-notification-retry.md §5.2. */
export const WINDOW_H: Readonly<Record<string, number>> = { urgent: 24, important: 12, normal: 6, info: 3 };
const RETRIES: Readonly<Record<string, number>> = { urgent: 10, important: 7, normal: 5, info: 3 };
/** Shortest wait after a failure, and after a 5xx: §5.1. */
const SHORTEST_RETRY_MS = 300_000;
const AFTER_OVERLOAD_MS = 600_000;
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
  readonly retry_after_ms: number | undefined;
}

/** A row as the table holds it when the simulation ends. */
export interface FinalRow {
  readonly status: string;
  readonly in_index: 'due' | 'dead' | undefined;
  readonly failure_reason: string | undefined;
  readonly send_attempts: number;
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
  readonly #claimedUntil: Float64Array;
  /** The worker that has a request for the row under way. */
  readonly #sending = new Map<number, object>();
  /** Rows that a worker has requested and not recorded yet. */
  readonly #openOf = new Map<object, Set<number>>();
  readonly #holder = new Map<number, object>();
  readonly #dead = new WeakSet<object>();
  readonly #violations: string[] = [];
  #count = 0;
  readonly #causes: Record<string, number> = {};

  constructor(size: number, priority: (row: number) => string) {
    this.#priority = priority;
    this.#acceptances = new Uint8Array(size);
    this.#newest = new Uint8Array(size);
    this.#lastRecord = new Int16Array(size).fill(-1);
    this.#notBefore = new Float64Array(size);
    this.#firstClaim = new Float64Array(size);
    this.#claimedUntil = new Float64Array(size);
  }

  /** @param last_attempt the number of its newest attempt, of which its writer kept no record; -1 without one */
  given(row: number, last_attempt: number): void {
    this.#lastRecord[row] = last_attempt;
  }

  claimed(row: number, until: number, now: number): void {
    if ((this.#claimedUntil[row] ?? 0) > now) this.#violated('2: two claims at once', row);
    this.#claimedUntil[row] = until;
    if (!this.#firstClaim[row]) this.#firstClaim[row] = now;
  }

  released(row: number): void {
    this.#claimedUntil[row] = 0;
  }

  /** An operator sends a dead letter again: its window starts anew. */
  redriven(row: number): void {
    this.#firstClaim[row] = 0;
    this.#notBefore[row] = 0;
  }

  requested(row: number, worker: object, now: number): void {
    const other = this.#sending.get(row);
    if (other !== undefined && !this.#dead.has(other)) this.#violated('2: two requests overlap', row);
    if (this.#newest[row] === RECORDED) this.#violated('5: sent after it was delivered', row);
    if (now < (this.#notBefore[row] ?? 0)) this.#violated('7: sent before its backoff was over', row);
    const window = (WINDOW_H[this.#priority(row)] ?? 0) * 3_600_000 + CLAIM_TO_REQUEST_MS;
    if (now > (this.#firstClaim[row] ?? 0) + window) this.#violated('7: sent after its deadline', row);
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
  answered(row: number, { now, ok, lost, overloaded, retry_after_ms = 0 }: Answer): void {
    this.#sending.delete(row);
    if (lost) this.#newest[row] = ANSWER_LOST;
    const shortest = overloaded ? AFTER_OVERLOAD_MS : SHORTEST_RETRY_MS;
    if (!ok) this.#notBefore[row] = now + Math.max(shortest, retry_after_ms);
  }

  recorded(row: number, attempt: number, status: string): void {
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
    if (/@|secret/.test(text)) this.#violated('9: a queue holds an address or a body', row);
  }

  /** A function threw or logged what is no fault of storage. */
  threw(error: string): void {
    this.#count += 1;
    if (this.#violations.length < SHOWN) this.#violations.push(error);
  }

  /** @param over whether nothing was left to do when the simulation ended */
  finish(row: number, final: FinalRow, over: boolean): void {
    const { status, in_index, failure_reason, send_attempts, letters } = final;
    const accepted = this.#acceptances[row] ?? 0;
    const ended = status === 'SUCCESS' || (status === 'FAILED' && failure_reason !== undefined);
    if (status === 'SUCCESS' && accepted === 0) this.#violated('1: SUCCESS, and nobody received it', row);
    if (!ended && in_index !== 'due') this.#violated('1: lost: not finished, and not in the work index', row);
    if (!ended && over) this.#violated('1: left over: nothing will send it', row);
    if (ended && in_index === 'due') this.#violated('1: finished, and still due', row);
    if (status === 'SUCCESS' && this.#lacksRecord(row)) this.#violated('6: delivered without a record', row);
    if (over && letters !== (in_index === 'dead' ? 1 : 0))
      this.#violated(`11: ${in_index === 'dead' ? 'dead' : 'not dead'}, with ${letters} letters`, row);
    if (send_attempts > (RETRIES[this.#priority(row)] ?? 0) + 1) this.#violated('4: too many attempts', row);
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

  #violated(rule: string, row: number): void {
    this.#count += 1;
    if (this.#violations.length < SHOWN) this.#violations.push(`invariant ${rule} (notification ${row})`);
  }
}
