import { createdAt } from '../model/history-index.ts';
import { type Clock, parseTime } from '../model/time.ts';
import type { PageCursor } from '../model/work-index.ts';
import { NO_SUMS, type Sums } from './rules/newsletter-sums.ts';
import { ACCOUNTS, type Account, type Fault, type RowTerms, type Stored, textOf } from './rules/row-rules.ts';

export interface Asked {
  readonly tenant?: string;
  /** Created in this period, both included; what does not say when it was created belongs to it. */
  readonly from?: string;
  readonly to?: string;
  /** Notifications whose records are checked. */
  readonly sample: number;
  /** Looks at every letter; otherwise the queues are counted. */
  readonly letters: boolean;
}

export interface Violation extends Fault {
  readonly log_id?: string;
  readonly email_id?: string;
  readonly channel?: string;
}

/** A request that was answered, and whose row is lost; or one that was cut off before its answer. */
interface AcceptedWithoutRow {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly accepted_at: string;
}

export const VERIFY_PHASES = ['rows', 'contents', 'records', 'newsletters', 'letters', 'done'] as const;
type Phase = (typeof VERIFY_PHASES)[number];

/** What looked wrong, and is looked at again a minute later. */
export interface Suspect {
  readonly of: 'row' | 'content' | 'records' | 'email' | 'letters';
  /** log_id, email_id or channel. */
  readonly id: string;
  /** Of a content. */
  readonly accepted?: AcceptedWithoutRow;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** How far a verification is: plain data, from which another process goes on. */
export interface Verification {
  readonly asked: Asked;
  readonly started_at: string;
  phase: Phase;
  /** Where the phase goes on, by segment; null: at its beginning. */
  cursors: (PageCursor | 'end' | null)[];
  /** Where the newsletters go on. */
  after: PageCursor | null;
  /** Rows read, those of others included. */
  scanned: number;
  readonly accounts: Record<Account, number>;
  /** In no account: lost. */
  lost: number;
  /** Erased by `ops forget`; each is in an account, too. */
  erased: number;
  /** Malformed, and content in the clear is left to the writer; each is in an account, too. */
  set_aside_in_clear: number;
  contents: number;
  contents_without_row: number;
  /** The first of those that a request left, which may have been answered. One of an earlier version lacks them. */
  readonly accepted_without_row?: AcceptedWithoutRow[];
  /** A random choice of the rows, all equally likely. */
  readonly sample: string[];
  sampled_of: number;
  /** By place in the sample: whether its content is there. */
  readonly sampled_content: boolean[];
  records_checked: number;
  emails: number;
  recipients: Sums;
  /** Dead rows that must have a letter, and letters, by channel; `on_the_way`: messages in its lanes. */
  readonly letters: Record<string, { dead: number; letters: number; on_the_way: number }>;
  suspects: Suspect[];
  /** The first of them. */
  readonly violations: Violation[];
  violated: number;
  read_units: number;
}

export function newVerification(asked: Asked, now: Date): Verification {
  return {
    asked,
    started_at: now.toISOString(),
    phase: 'rows',
    cursors: Array<null>(SEGMENTS).fill(null),
    after: null,
    accounts: Object.fromEntries(ACCOUNTS.map((name) => [name, 0])) as Record<Account, number>,
    recipients: NO_SUMS,
    letters: {},
    scanned: 0,
    lost: 0,
    erased: 0,
    set_aside_in_clear: 0,
    contents: 0,
    contents_without_row: 0,
    accepted_without_row: [],
    sampled_of: 0,
    records_checked: 0,
    emails: 0,
    violated: 0,
    read_units: 0,
    sample: [],
    sampled_content: [],
    suspects: [],
    violations: [],
  };
}

/** A page of a table, in no order. */
export interface Page<T = Stored> {
  readonly items: readonly T[];
  readonly read_units: number;
  /** Absent on the last page. */
  readonly next?: PageCursor;
}

/** Parts of a table that are scanned side by side. */
export const SEGMENTS = 4;

export interface Letter {
  readonly message_id: string;
  readonly log_id: string;
  readonly run_id: string;
}

/** The tables and queues as they are. Nothing here writes. */
export interface VerifyPorts {
  readonly rows: {
    page(segment: number, after: PageCursor | null): Promise<Page>;
    /** As they are now; those that are missing are left out. */
    read(log_ids: readonly string[]): Promise<Page>;
  };
  /** NotificationContent without what it holds. */
  readonly contents: { page(segment: number, after: PageCursor | null): Promise<Page> };
  /** All of them, as they are now. */
  readonly records: (log_id: string) => Promise<Page>;
  /** Absent: the stage has no newsletters. */
  readonly newsletters?: {
    /** Emails, with `email_id`, `tenant_id` and `created_at` at least. */
    page(after: PageCursor | null): Promise<Page>;
    read(email_id: string): Promise<Page>;
    batches(email_id: string): Promise<Page>;
    /** Of the states alone: `chunk` and `states`. */
    chunks(email_id: string, batch_id: string): AsyncIterable<Page>;
  };
  readonly letters: {
    readonly channels: readonly string[];
    /** SQS's own counts. */
    counts(channel: string): Promise<{ readonly letters: number; readonly on_the_way: number }>;
    /** Every dead row's entry in the work index: `log_id`, `channel` and `work_at`. */
    dead(): AsyncIterable<Page>;
    /** Each is hidden from others for a moment, and counts one receive. */
    walk(channel: string): AsyncIterable<readonly Letter[]>;
  };
}

export interface VerifyDeps {
  readonly ports: VerifyPorts;
  /** As they are now: a deployment may change them meanwhile. */
  readonly terms: () => Promise<RowTerms>;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  /** Draws from [0, 1), like Math.random. */
  readonly random: () => number;
  /** Read units per second, on average. */
  readonly rate: number;
  /** Called after each page, with the state from which another process goes on. */
  readonly onProgress?: (state: Verification) => void | Promise<void>;
  readonly isStopping: () => boolean;
}

/** What changes while it is read may look wrong: it is looked at again after this time. */
export const REREAD_AFTER_MS = 60_000;

/** One process's work on it. */
export interface Run {
  readonly state: Verification;
  readonly deps: VerifyDeps;
  readonly pace: Pace;
  /** Suspects that are being looked at again. */
  readonly looking: Set<Suspect>;
}

export function suspect(
  { state, deps }: Pick<Run, 'state' | 'deps'>,
  of: Suspect['of'],
  id: string,
  more: Pick<Suspect, 'accepted'> = {},
): void {
  state.suspects.push({ of, id, at: deps.clock().getTime(), ...more });
}

/** All violations are counted, and this many are named. */
export const NAMED = 1_000;

export function found(state: Verification, faults: readonly Fault[], whose: Omit<Violation, keyof Fault>): void {
  for (const fault of faults) {
    state.violated += 1;
    if (state.violations.length < NAMED) state.violations.push({ ...fault, ...whose });
  }
}

/** Whether a row, content or email is one of those that were asked for. */
export function isAskedFor({ tenant, from, to }: Asked, stored: Stored, created: string | undefined): boolean {
  if (tenant !== undefined && stored['tenant_id'] !== tenant) return false;
  return created === undefined || ((from === undefined || created >= from) && (to === undefined || created <= to));
}

/** Keeps the average rate of reads, whoever of those that work side by side spends how much. */
export class Pace {
  readonly #deps: Pick<VerifyDeps, 'clock' | 'pause' | 'rate'>;
  #free_at = 0;

  constructor(deps: Pick<VerifyDeps, 'clock' | 'pause' | 'rate'>) {
    this.#deps = deps;
  }

  async spend(state: Pick<Verification, 'read_units'>, { read_units }: Pick<Page, 'read_units'>): Promise<void> {
    const { clock, pause, rate } = this.#deps;
    state.read_units += read_units;
    const now = clock().getTime();
    this.#free_at = Math.max(this.#free_at, now) + (read_units / rate) * 1000;
    if (this.#free_at - now > SHORTEST_PAUSE_MS) await pause(this.#free_at - now);
  }
}

const SHORTEST_PAUSE_MS = 50;

/** Keys of a BatchGetItem. */
export const MOST_READS = 100;

/** Rows as they are now, by log_id. */
export async function readRows(log_ids: readonly string[], { state, deps, pace }: Run): Promise<Map<string, Stored>> {
  const rows = new Map<string, Stored>();
  for (let first = 0; first < log_ids.length; first += MOST_READS) {
    const read = await deps.ports.rows.read([...new Set(log_ids.slice(first, first + MOST_READS))]);
    for (const row of read.items) rows.set(String(row['log_id']), row);
    await pace.spend(state, read);
  }
  return rows;
}

/** A row may say in any form when it was created. */
export function createdOf(row: Stored): string | undefined {
  return createdAt(row) || parseTime(textOf(row['created_at']))?.toISOString();
}
