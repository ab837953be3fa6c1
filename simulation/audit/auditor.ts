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

/** Why a notification may be accepted twice. */
type Cause = 'a worker died' | 'an answer got lost' | 'all storage refused its record';

/** What is known of a notification. Times in epoch milliseconds. */
interface Known {
  /** The newest attempt with a record; -1 before the first. */
  last_record: number;
  not_before: number;
  first_claim: number;
  /** What became of its newest acceptance. */
  newest?: 'accepted' | 'recorded' | Cause;
  /** The worker that has a request for it under way, and the one that has not recorded its request yet. */
  sending?: object | undefined;
  holder?: object | undefined;
}

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
  readonly #rows: Known[] = [];
  /** How often an operator sent each notification again. */
  readonly #redriven: Record<string, number> = {};
  readonly #memory: promises.Memory = { ...promises.NOTHING_YET, redriven: this.#redriven };
  /** Rows that a worker has requested and not recorded yet. */
  readonly #openOf = new Map<object, Set<number>>();
  readonly #dead = new WeakSet<object>();
  readonly #violations: string[] = [];
  #count = 0;
  readonly #causes: Record<string, number> = {};
  /** Milliseconds between the earliest clock of a worker and the latest. */
  readonly #apart: number;

  constructor(priority: (row: number) => string, apart = 0) {
    this.#apart = apart;
    this.#priority = priority;
  }

  /** @param last_attempt the number of its newest attempt, of which its writer kept no record; -1 without one */
  given(row: number, last_attempt: number): void {
    this.#rows[row] = { last_record: last_attempt, not_before: 0, first_claim: 0 };
  }

  /** A row that is stored has changed. */
  written(row: number, before: Stored, after: Stored, now: number): void {
    const known = this.#known(row);
    if (after['send_status'] === 'SENDING') known.first_claim ||= now;
    this.#judged(row, promises.written(this.#memory, before, after, { by: 'worker', now: now + this.#apart }));
  }

  /** An operator sends a dead letter again: its window starts anew. */
  redriven(row: number, log_id: string): void {
    Object.assign(this.#known(row), { first_claim: 0, not_before: 0 });
    this.#redriven[log_id] = (this.#redriven[log_id] ?? 0) + 1;
  }

  /** A message reaches the provider. @param stored its row, and the record before it */
  sent(row: number, send: promises.Send, stored: Stored, before: Stored | undefined): void {
    const records = before === undefined ? [] : [before];
    this.#judged(row, promises.sent(this.#memory, { ...send, apart: this.#apart }, stored, records));
  }

  requested(row: number, worker: object, now: number): void {
    const known = this.#known(row);
    const { sending, newest, not_before, first_claim } = known;
    if (sending !== undefined && !this.#dead.has(sending)) this.#violated('2: two requests overlap', row);
    if (newest === 'recorded') this.#violated('5: sent after it was delivered', row);
    if (now + this.#apart < not_before) this.#violated('7: sent before its backoff was over', row);
    const window = (WINDOW_HOURS[this.#priority(row)] ?? 0) * 3_600_000 + CLAIM_TO_REQUEST_MS;
    if (now > first_claim + window + this.#apart) this.#violated('7: sent after its deadline', row);
    known.sending = worker;
    known.holder = worker;
    this.#openOf.set(worker, (this.#openOf.get(worker) ?? new Set()).add(row));
  }

  accepted(row: number): void {
    const known = this.#known(row);
    const { newest, sending } = known;
    if (newest === 'accepted' || newest === 'recorded') this.#violated('3: a duplicate without a cause', row);
    else if (newest !== undefined) this.#causes[newest] = (this.#causes[newest] ?? 0) + 1;
    // Its worker may have died while the request was on its way.
    known.newest = sending !== undefined && this.#dead.has(sending) ? 'a worker died' : 'accepted';
  }

  /** The answer reached a worker that lives. */
  answered(row: number, { now, ok, lost, overloaded, limited, retry_after_ms = 0 }: Answer): void {
    const known = this.#known(row);
    known.sending = undefined;
    if (lost) known.newest = 'an answer got lost';
    const shortest = limited ? 0 : promises.BASE_INTERVAL_MS * (overloaded ? 2 : 1);
    if (!ok) known.not_before = now + Math.max(shortest, retry_after_ms);
  }

  recorded(row: number, record: Stored): void {
    const known = this.#known(row);
    const [attempt, status] = [Number(record['retry_attempt']), record['retry_status']];
    this.#judged(row, promises.recorded(this.#memory, record, 'worker'));
    const last = known.last_record;
    if (attempt !== last && attempt !== last + 1) this.#violated(`6: attempt ${last + 1} has no record`, row);
    known.last_record = attempt;
    if (status === 'SUCCESS' && lacksRecord(known)) known.newest = 'recorded';
    if (known.holder !== undefined) this.#openOf.get(known.holder)?.delete(row);
    known.holder = undefined;
  }

  died(worker: object): void {
    this.#dead.add(worker);
    for (const row of this.#openOf.get(worker) ?? []) {
      const known = this.#known(row);
      if (lacksRecord(known)) known.newest = 'a worker died';
      // Nobody else knows what it was answered, and so how long to wait.
      known.not_before = 0;
      known.holder = undefined;
    }
    this.#openOf.delete(worker);
  }

  /** All storage refuses a worker's calls. Until it takes the record, nobody else knows what was accepted. */
  refused(worker: object): void {
    for (const known of [...(this.#openOf.get(worker) ?? [])].map((row) => this.#known(row)))
      if (known.newest === 'accepted') known.newest = 'all storage refused its record';
  }

  /** A message as it goes into a queue. */
  queued(text: string, row: number): void {
    this.#judged(row, { violations: promises.queued(text) });
  }

  /** A function threw or logged what is no fault of storage. */
  threw(error: string): void {
    this.#count += 1;
    if (this.#violations.length < SHOWN) this.#violations.push(error);
  }

  finish(row: number, { row: stored, records, letters }: Final): void {
    const log_id = String(stored['log_id']);
    const accepted = this.#known(row).newest === undefined ? {} : { [log_id]: [] };
    const all = Array<unknown>(letters).fill(log_id);
    this.#judged(row, { violations: ended({ ...this.#memory, accepted }, { rows: [stored], records, letters: all }) });
    const isDead = promises.textOf(stored['work_queue']).startsWith('dead');
    if (letters > (isDead ? 1 : 0)) this.#violated(`11: ${isDead ? 'dead' : 'not dead'}, with ${letters} letters`, row);
  }

  result(): AuditResult {
    return {
      violations: this.#count,
      examples: this.#violations,
      duplicates: Object.values(this.#causes).reduce((sum, count) => sum + count, 0),
      duplicates_by_cause: this.#causes,
    };
  }

  #known(row: number): Known {
    if (this.#rows[row] === undefined) this.given(row, -1);
    return this.#rows[row] as Known;
  }

  #judged(row: number, { violations }: Pick<promises.Judged, 'violations'>): void {
    for (const rule of violations) this.#violated(rule, row);
  }

  #violated(rule: string, row: number): void {
    this.threw(`invariant ${rule} (notification ${row})`);
  }
}

/** It was accepted, and its worker, which lives, has not recorded it. */
function lacksRecord({ newest }: Known): boolean {
  return newest === 'accepted' || newest === 'all storage refused its record';
}
