/**
 * Checks what must hold whatever the pipeline does (the invariants of its design): asks the promises for each
 * notification by itself, as the small worlds do for all of theirs, and adds what only time and requests that overlap
 * show. It shares no code with the pipeline: its numbers are copied from the specification.
 */
import { ended, WINDOW_HOURS } from './end-promises.ts';
import { type Memory, NOTHING_YET, type Stored } from './memory.ts';
import * as promises from './promises.ts';

/** From a claim, which is made within the window, to the request. */
const CLAIM_TO_REQUEST_MS = 30_000;

/** A process of a function. */
interface Worker {
  readonly name: string;
  readonly dead: boolean;
}

/** What is known of a notification. Times in epoch milliseconds. */
interface Known {
  memory: Memory;
  not_before: number;
  /** The same for the last attempt before the deadline. */
  not_before_last: number;
  first_claim: number;
  /** The worker that has a request for it under way, and the one that has not recorded its request yet. */
  sending?: Worker | undefined;
  holder?: Worker | undefined;
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
  /** Rows that a worker has requested and not recorded yet. */
  readonly #openOf = new Map<Worker, Set<number>>();
  readonly #violations: string[] = [];
  #count = 0;
  readonly #causes: Record<string, number> = {};
  /** Milliseconds between the earliest clock of a worker and the latest. */
  readonly #apart: number;

  constructor(priority: (row: number) => string, apart = 0) {
    this.#apart = apart;
    this.#priority = priority;
  }

  /** A row that is stored has changed. */
  written(row: number, before: Stored, after: Stored, now: number): void {
    const known = this.#known(row);
    if (after['send_status'] === 'SENDING') known.first_claim ||= now;
    this.#judge(row, promises.written(known.memory, before, after, { by: 'worker', now: now + this.#apart }));
  }

  /** An operator sends a dead letter again: its window starts anew. */
  redriven(row: number, log_id: string): void {
    const known = this.#known(row);
    Object.assign(known, {
      first_claim: 0,
      not_before: 0,
      not_before_last: 0,
      memory: promises.redriven(known.memory, [log_id]),
    });
  }

  /** A message reaches the provider. @param stored its row, and the record before it */
  sent(row: number, send: promises.Send, worker: Worker, stored: Stored, before: Stored | undefined): void {
    const known = this.#known(row);
    const { sending, not_before, first_claim } = known;
    const { now } = send;
    const records = before === undefined ? [] : [before];
    this.#judge(row, promises.sent(known.memory, { ...send, apart: this.#apart }, stored, records));
    if (sending?.dead === false) this.#violated('2: two requests overlap', row);
    const deadline = first_claim + (WINDOW_HOURS[this.#priority(row)] ?? 0) * 3_600_000;
    // The last attempt comes right before the deadline, although its backoff would end after it.
    const last = now + this.#apart >= deadline - promises.BASE_INTERVAL_MS;
    if (now + this.#apart < (last ? known.not_before_last : not_before))
      this.#violated('7: sent before its backoff was over', row);
    if (now > deadline + CLAIM_TO_REQUEST_MS + this.#apart) this.#violated('7: sent after its deadline', row);
    known.sending = worker;
    known.holder = worker;
    this.#openOf.set(worker, (this.#openOf.get(worker) ?? new Set()).add(row));
  }

  /** The provider takes it. */
  accepted(row: number, send: promises.Send): void {
    const known = this.#known(row);
    const { how, why } = known.memory.accepted[send.log_id]?.at(-1) ?? {};
    if (how !== 'recorded' && why !== undefined) this.#causes[why] = (this.#causes[why] ?? 0) + 1;
    this.#judge(row, promises.accepted(known.memory, { ...send, late: false }));
    // Its worker may have died while the request was on its way.
    if (known.sending?.dead) this.#excuse(known, known.sending);
  }

  /** The answer reached a worker that lives. */
  answered(row: number, { now, ok, lost, overloaded, limited, retry_after_ms = 0 }: Answer): void {
    const known = this.#known(row);
    if (lost && known.sending) known.memory = promises.died(known.memory, known.sending.name, 'an answer got lost');
    known.sending = undefined;
    const shortest = limited ? 0 : promises.BASE_INTERVAL_MS;
    if (ok) return;
    known.not_before = now + Math.max(overloaded ? 2 * shortest : shortest, retry_after_ms);
    known.not_before_last = now + Math.max(shortest, retry_after_ms);
  }

  recorded(row: number, record: Stored): void {
    const known = this.#known(row);
    this.#judge(row, promises.recorded(known.memory, record, 'worker'));
    if (known.holder !== undefined) this.#openOf.get(known.holder)?.delete(row);
    known.holder = undefined;
  }

  died(worker: Worker): void {
    for (const row of this.#openOf.get(worker) ?? []) this.#excuse(this.#known(row), worker);
    this.#openOf.delete(worker);
  }

  /** Nobody else knows what it was answered, and so how long to wait. */
  #excuse(known: Known, { name }: Worker): void {
    const memory = promises.died(known.memory, name, 'a worker died');
    Object.assign(known, { memory, not_before: 0, not_before_last: 0, holder: undefined });
  }

  /** All storage refuses a worker's calls. */
  refused(worker: Worker): void {
    for (const known of [...(this.#openOf.get(worker) ?? [])].map((row) => this.#known(row)))
      known.memory = promises.unrecorded(known.memory, worker.name, 'all storage refused its record');
  }

  /** A message as it goes into a queue. */
  queued(text: string): void {
    for (const rule of promises.queued(text)) this.threw(`invariant ${rule}`);
  }

  /** A function threw or logged what is no fault of storage. */
  threw(error: string): void {
    this.#count += 1;
    if (this.#violations.length < SHOWN) this.#violations.push(error);
  }

  finish(row: number, { row: stored, records, letters }: Final): void {
    const all = Array<unknown>(letters).fill(stored['log_id']);
    const rules = ended(this.#known(row).memory, { rows: [stored], records, letters: all });
    for (const rule of rules) this.#violated(rule, row);
    // Nobody gives up here what is dead, and no message comes to its end before its notification.
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
    this.#rows[row] ??= { memory: NOTHING_YET, not_before: 0, not_before_last: 0, first_claim: 0 };
    return this.#rows[row];
  }

  #judge(row: number, { memory, violations }: promises.Judged): void {
    this.#known(row).memory = memory;
    for (const rule of violations) this.#violated(rule, row);
  }

  #violated(rule: string, row: number): void {
    this.threw(`invariant ${rule} (notification ${row})`);
  }
}
