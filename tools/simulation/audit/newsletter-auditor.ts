/**
 * Checks the promise of newsletters (docs/newsletters.md) by what the simulated receivers saw and by what the tables
 * hold. It shares no code with the job: whatever an address is, it is a number here.
 */
import type { AuditResult } from './auditor.ts';

export const STATES = ['pending', 'submitted', 'excluded', 'failed', 'uncertain'] as const;
export type State = (typeof STATES)[number];
export type Counts = Readonly<Record<State, number>>;

/** The email as its row says. */
export interface EmailSeen {
  readonly status: string;
  readonly cancelled_at: string | undefined;
  readonly paused: boolean;
  /** Batches that have a slot. */
  readonly slots: number;
  /** As the preparation froze them. */
  readonly prepared: { readonly recipients: number; readonly batches: number } | undefined;
  /** Whether the clock's index holds it. */
  readonly active: boolean;
  /** It is not scheduled for later, and nothing breaks any more. */
  readonly due: boolean;
  /** It holds for what it has to ask about again. */
  readonly holds: boolean;
}

/** How long a sender may hold what it read of addresses, with all its retries: 15 minutes. */
const UNSUBSCRIBED_MS = 15 * 60_000;
/** With the clock's minute, the time of a message that got lost, and a clock that died or met an outage. */
const IDLE_MS = 20 * 60_000;
/** A call that is not answered within this time gives its slot away, once. */
const HUNG_MS = 3_000;
const MOST_ENTRIES = 50;
/** A hold is asked again within five minutes; the rows are read every minute. */
const ASKED_MS = 6 * 60_000;

/** Events tell within this time what was refused late, also where they met an open call and came back. */
const TOLD_MS = 8 * 60_000;

const SHOWN = 20;

export class NewsletterAuditor {
  /** 最大並列度 of batch-sending-service-job.md. */
  readonly #concurrency: number;
  readonly #acceptances: Uint8Array;
  readonly #seen: Uint8Array;
  /** Whose mail an event tells of. */
  readonly #told: Uint8Array;
  /** Mails beyond the first that an operator allowed. */
  readonly #allowed = new Map<number, number>();
  readonly #unsubscribedAt = new Map<number, number>();
  /** Since when a worker waits for an answer. */
  readonly #calling = new Map<object, number>();
  /** Who was refused as everybody was, since the last acceptance; of enough of them nobody may fail by it. */
  readonly #refused = new Set<number>();
  readonly #refusedWithAll = new Set<number>();
  /** Since when it is on its way that they were refused late, as everybody was since the last acceptance. */
  readonly #late = new Map<number, { readonly since: number; readonly last: number }>();
  #refusedLate = 0;
  /** A refusal that is told later fails its recipients: nobody of a cancelled email is sent to again. */
  #cancelledAt = Number.POSITIVE_INFINITY;
  readonly #everybody: number;
  /** Since when nobody asks whether a hold is over. */
  #heldSince: number | undefined;
  readonly #violations: string[] = [];
  readonly #found: Record<State, number> = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };
  #submitted = 0;
  /** When the recipients were found to be frozen: who unsubscribed before may be none. */
  #preparedAt = Number.POSITIVE_INFINITY;
  /** Since when the email is due and not begun, or submitted with somebody left whom a retry would send to. */
  #idleSince: number | undefined;
  #leftSince: number | undefined;
  #count = 0;
  duplicates = 0;

  /** @param everybody from how many recipients on that are refused in a row all are */
  constructor(members: number, concurrency = 2, everybody = Number.POSITIVE_INFINITY) {
    this.#everybody = everybody;
    this.#concurrency = concurrency;
    this.#acceptances = new Uint8Array(members);
    this.#seen = new Uint8Array(members);
    this.#told = new Uint8Array(members);
  }

  /** A worker calls the provider. */
  called(worker: object, members: readonly number[], now: number): void {
    this.asked();
    this.#calling.set(worker, now);
    const fresh = [...this.#calling.values()].filter((since) => now - since < HUNG_MS).length;
    const most = this.#concurrency;
    if (fresh > most) this.#violated(`more than ${most} batches at once`, members[0]);
    // Those in the slots, and as many that gave theirs away because they hang.
    if (this.#calling.size > 2 * most) {
      this.#violated(`slots were given away for more than ${most} calls that hang`, members[0]);
    }
    if (members.length > MOST_ENTRIES) this.#violated('a call with more than 50 recipients', members[0]);
  }

  /** The worker has its answer, or has died. */
  ended(worker: object): void {
    this.#calling.delete(worker);
  }

  /** A sender asked whether it may go on, and got an answer that is true. */
  asked(): void {
    this.#heldSince = undefined;
  }

  /** The provider refused them as everybody else. */
  refused(members: readonly number[]): void {
    for (const member of members) this.#refused.add(member);
    if (this.#refused.size < this.#everybody) return;
    for (const member of this.#refused) this.#refusedWithAll.add(member);
  }

  /** The provider accepted mails, and sends none of them on. @param everybody whom it refused as everybody else */
  refusedLate(count: number, everybody: readonly number[], now: number): void {
    this.#refusedLate += count;
    for (const member of everybody) this.#late.set(member, { since: this.#late.get(member)?.since ?? now, last: now });
  }

  #endLate(now: number): void {
    const told = [...this.#late].filter(
      ([, { since, last }]) => since <= now - TOLD_MS && last <= this.#cancelledAt - TOLD_MS,
    );
    if (told.length >= this.#everybody) for (const [member] of told) this.#refusedWithAll.add(member);
    this.#late.clear();
  }

  /** The receiver got the mail. @param told an event will tell of it within minutes */
  accepted(member: number, now: number, told = false): void {
    this.#refused.clear();
    this.#endLate(now);
    const before = this.#acceptances[member] ?? 0;
    this.#acceptances[member] = before + 1;
    if (before > 0) this.duplicates += 1;
    if (this.#told[member]) this.#violated('another mail, although the provider told of the one before', member);
    if (before > (this.#allowed.get(member) ?? 0)) this.#violated('a recipient got the mail twice', member);
    if (told) this.#told[member] = 1;
    const left = this.#unsubscribedAt.get(member) ?? Number.POSITIVE_INFINITY;
    if (now > left + UNSUBSCRIBED_MS) this.#violated('a mail long after the recipient had unsubscribed', member);
  }

  /** The operator decides to send to an uncertain recipient again. */
  allowed(member: number): void {
    this.#allowed.set(member, (this.#allowed.get(member) ?? 0) + 1);
  }

  unsubscribed(member: number, now: number): void {
    if (!this.#unsubscribedAt.has(member)) this.#unsubscribedAt.set(member, now);
  }

  /** What the rows say now; `counts`: what the batches add up to. */
  read(email: EmailSeen, counts: Counts, now: number): void {
    const { status, paused, slots, prepared, active, due, holds, cancelled_at } = email;
    if (cancelled_at !== undefined) this.#cancelledAt = Date.parse(cancelled_at);
    const isOpen = status === 'pending' || status === 'submitting';
    if (isOpen && !paused && !active) this.#violated(`nothing comes back to an email that is ${status}`);
    this.#idleSince = due && !paused && status === 'pending' ? (this.#idleSince ?? now) : undefined;
    if (now - (this.#idleSince ?? now) >= IDLE_MS) this.#violated('idle although it is due');
    this.#heldSince = due && holds && !paused && status === 'submitting' ? (this.#heldSince ?? now) : undefined;
    if (now - (this.#heldSince ?? now) >= ASKED_MS) this.#violated('nobody asks whether it may go on');
    if (slots > this.#concurrency) this.#violated(`${slots} batches have a slot`);
    if (prepared === undefined) return;
    this.#preparedAt = Math.min(this.#preparedAt, now);
    const sum = STATES.reduce((total, state) => total + counts[state], 0);
    if (sum !== prepared.recipients) this.#violated(`the states add up to ${sum} of ${prepared.recipients}`);
    if (STATES.some((state) => counts[state] < 0)) this.#violated('a count below zero');
    if (counts.submitted < this.#submitted - this.#refusedLate) this.#violated('fewer are submitted than before');
    this.#submitted = counts.submitted;
    // A record that comes late is told to the chunk first, to the email last.
    const isLeft = status === 'submitted' && counts.pending > 0;
    this.#leftSince = isLeft ? (this.#leftSince ?? now) : undefined;
    if (now - (this.#leftSince ?? now) >= IDLE_MS) this.#violated('submitted, and somebody is left to send to');
  }

  /** A text in a queue. */
  queued(text: string): void {
    if (/@|secret/.test(text)) this.#violated('a queue holds an address or a body');
  }

  /** A function threw what is no fault of storage. */
  threw(error: string): void {
    this.#violated(error);
  }

  /** One recipient as the table of recipients holds it when the simulation ends. @param owner whose address it is */
  finish(member: number, owner: number, state: State, reason: string | undefined): void {
    this.#endLate(Number.POSITIVE_INFINITY);
    if (this.#seen[member]) this.#violated('a recipient is in the table twice', member);
    this.#seen[member] = 1;
    this.#found[state] += 1;
    const got = member === owner && (this.#acceptances[member] ?? 0) > 0;
    const isNever = state === 'failed' || state === 'excluded';
    if (state === 'pending') this.#violated('left over: nothing will send it', member);
    if (state === 'submitted' && !got) this.#violated('submitted, and nobody got it', member);
    if (isNever && got && !this.#allowed.has(member)) this.#violated(`${state}, and it was received`, member);
    if (state === 'failed' && this.#refusedWithAll.has(member)) {
      this.#violated('failed by a refusal that everybody got', member);
    }
    if (isNever && !reason) this.#violated(`${state} without a reason`, member);
  }

  /** @param batches those with recipients. @param nobody there is nobody to send to */
  end(email: EmailSeen, counts: Counts, batches: number, nobody = false): void {
    const { status, cancelled_at, prepared } = email;
    const right = cancelled_at !== undefined ? 'cancelled' : nobody && prepared === undefined ? 'failed' : 'submitted';
    if (status !== right) this.#violated(`the email is ${status} at the end`);
    if (prepared === undefined) {
      const got = this.#acceptances.findIndex((mails) => mails > 0);
      if (got >= 0) this.#violated('a mail before the recipients were frozen', got);
      return;
    }
    if (batches !== prepared.batches) this.#violated(`${batches} batches of ${prepared.batches}`);
    const missing = this.#seen.findIndex(
      (seen, member) => !seen && !((this.#unsubscribedAt.get(member) ?? Number.POSITIVE_INFINITY) < this.#preparedAt),
    );
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
