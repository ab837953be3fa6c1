/**
 * Checks the promise of newsletters (docs/newsletters.md) by what the simulated receivers saw and by what the tables
 * hold. It shares no code with the job: whatever an address is, it is a number here.
 */
import type { AuditResult } from './auditor.ts';

export const STATES = ['pending', 'submitted', 'excluded', 'failed', 'uncertain'] as const;
export type State = (typeof STATES)[number];
export type Counts = Readonly<Record<State, number>>;

/** How long a sender may hold what it read of addresses, with all its retries: 15 minutes. */
const UNSUBSCRIBED_MS = 15 * 60_000;
/** 最大並列度 of batch-sending-service-job.md. */
const BATCHES_AT_ONCE = 2;
/** A call that is not answered for so long gives its slot away, once. */
const HUNG_MS = 3_000;
const MOST_ENTRIES = 50;
const SHOWN = 20;

export class NewsletterAuditor {
  readonly #acceptances: Uint8Array;
  readonly #seen: Uint8Array;
  readonly #unsubscribedAt = new Map<number, number>();
  /** Since when a worker waits for an answer. */
  readonly #calling = new Map<object, number>();
  readonly #violations: string[] = [];
  readonly #found: Record<State, number> = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };
  #submitted = 0;
  #count = 0;
  duplicates = 0;

  constructor(members: number) {
    this.#acceptances = new Uint8Array(members);
    this.#seen = new Uint8Array(members);
  }

  /** A worker calls the provider. */
  called(worker: object, members: readonly number[], now: number): void {
    this.#calling.set(worker, now);
    const [waiting, hung] = [...this.#calling.values()].reduce(
      ([calls, hangs], since) => (now - since < HUNG_MS ? [calls + 1, hangs] : [calls, hangs + 1]),
      [0, 0],
    );
    if (waiting > BATCHES_AT_ONCE) this.#violated('more than two batches at once', members[0]);
    if (hung > BATCHES_AT_ONCE) this.#violated('slots were given away for more than two calls that hang', members[0]);
    if (members.length > MOST_ENTRIES) this.#violated('a call with more than 50 recipients', members[0]);
  }

  /** The worker has its answer, or has died. */
  ended(worker: object): void {
    this.#calling.delete(worker);
  }

  /** The receiver got the mail. */
  accepted(member: number, now: number): void {
    const before = this.#acceptances[member] ?? 0;
    this.#acceptances[member] = before + 1;
    // Nobody decides to send to uncertain recipients again here, so no second mail has an excuse.
    if (before > 0) {
      this.duplicates += 1;
      this.#violated('a recipient got the mail twice', member);
    }
    const left = this.#unsubscribedAt.get(member) ?? Number.POSITIVE_INFINITY;
    if (now > left + UNSUBSCRIBED_MS) this.#violated('a mail long after the recipient had unsubscribed', member);
  }

  unsubscribed(member: number, now: number): void {
    if (!this.#unsubscribedAt.has(member)) this.#unsubscribedAt.set(member, now);
  }

  /** What the rows of the batches add up to. @param recipients as the preparation froze it */
  read(counts: Counts, recipients: number): void {
    const sum = STATES.reduce((total, state) => total + counts[state], 0);
    if (sum !== recipients) this.#violated(`the states add up to ${sum} of ${recipients}`);
    if (STATES.some((state) => counts[state] < 0)) this.#violated('a count below zero');
    if (counts.submitted < this.#submitted) this.#violated('fewer are submitted than before');
    this.#submitted = counts.submitted;
  }

  /** A text in a queue. */
  queued(text: string): void {
    if (/@|secret/.test(text)) this.#violated('a queue holds an address or a body');
  }

  /** One recipient as the table of recipients holds it when the simulation ends. @param owner whose address it is */
  finish(member: number, owner: number, state: State, reason: string | undefined): void {
    if (this.#seen[member]) this.#violated('a recipient is in the table twice', member);
    this.#seen[member] = 1;
    this.#found[state] += 1;
    const got = member === owner && (this.#acceptances[member] ?? 0) > 0;
    if (state === 'pending') this.#violated('left over: nothing will send it', member);
    if (state === 'submitted' && !got) this.#violated('submitted, and nobody got it', member);
    if ((state === 'failed' || state === 'excluded') && got) this.#violated(`${state}, and it was received`, member);
    if ((state === 'failed' || state === 'excluded') && !reason) this.#violated(`${state} without a reason`, member);
  }

  /** @param status of the email; `counts`: what the rows of its batches add up to */
  end(status: string, counts: Counts): void {
    if (status !== 'submitted') this.#violated(`the email is ${status} at the end`);
    const missing = this.#seen.indexOf(0);
    if (missing >= 0) this.#violated('a member is no recipient', missing);
    for (const state of STATES) {
      if (counts[state] !== this.#found[state]) {
        this.#violated(`the batches count ${counts[state]} ${state}, and the chunks ${this.#found[state]}`);
      }
    }
  }

  result(): AuditResult {
    return {
      violations: this.#count,
      examples: this.#violations,
      duplicates: this.duplicates,
      duplicates_by_cause: {},
    };
  }

  #violated(rule: string, member?: number): void {
    this.#count += 1;
    if (this.#violations.length >= SHOWN) return;
    this.#violations.push(`newsletter: ${rule}${member === undefined ? '' : ` (recipient ${member})`}`);
  }
}
