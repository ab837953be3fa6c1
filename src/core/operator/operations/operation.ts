import { LEASE } from '../../model/changes.ts';
import type { ForeignRow } from '../../model/notification.ts';
import type { WorkState } from '../../model/work-index.ts';
import type { Period, SearchFilter } from '../search-filter.ts';
import type { Exclusion } from './exclusions.ts';

/** What a bulk operation does with each notification that matches. */
export type Kind = 'redrive' | 'retry' | 'cancel' | 'give_up' | 'correct';

type Status = 'previewing' | 'ready' | 'running' | 'paused' | 'done' | 'cancelled' | 'failed';

export interface Counts {
  readonly matched: number;
  /** Changed, or in a preview: would be. */
  readonly taken: number;
  readonly left_to_sweep: number;
  readonly excluded: Readonly<Partial<Record<Exclusion, number>>>;
}

export const NOTHING: Counts = { matched: 0, taken: 0, left_to_sweep: 0, excluded: {} };

/** Where reading goes on: an index, and the place in it that only the adapter reads. */
export interface Checkpoint {
  readonly source: Source;
  readonly after?: Readonly<Record<string, string>>;
}

/** Indexes of NotificationLog: of due, of dead notifications, and of all by the time of their creation. */
export type Source = WorkState | 'created';

/** The page in work: written before the first change of it, so that a crash in between leaves nothing uncounted. */
export interface PageInWork {
  readonly log_ids: readonly string[];
  readonly matched: number;
  readonly excluded: Counts['excluded'];
  /** Where the page after it begins; absent: it is the last one. */
  readonly next?: Checkpoint;
}

/** A bulk operation: its whole state is one item, changed by its version. */
export interface Operation {
  /** Sorts by the time of its creation. Every row that it takes stores it as replay_id, so it is short. */
  readonly operation_id: string;
  readonly version: number;
  readonly kind: Kind;
  readonly status: Status;
  /** What an operator asked for while a page is in work. */
  readonly wanted?: 'pause' | 'cancel';
  readonly filter: SearchFilter;
  /** The filter as it was asked for, to show it. */
  readonly asked: Readonly<Record<string, string>>;
  /** Notifications per second. */
  readonly rate: number;
  readonly limit?: number;
  readonly max_age_ms?: number;
  /** Correct: the integration by which they are sent from then on. */
  readonly integration_config_id?: string;
  readonly include_stopped: boolean;
  /** Redrive: what has no dead letter is read and counted even though it is not included, at the price of those reads. */
  readonly reads_stopped?: boolean;
  /** Nothing that was created, or for a redrive died, after it is taken. */
  readonly cut_off: string;
  readonly created_by: string;
  readonly created_at: string;
  readonly started_at?: string;
  readonly ended_at?: string;
  readonly checkpoint: Checkpoint;
  readonly page?: PageInWork;
  /** Written down in pages so far, with a limit: what is left of the limit does not depend on what became of them. */
  readonly chosen?: number;
  readonly preview?: Counts;
  readonly sample: readonly string[];
  readonly progress: Counts;
  /** Taken per second by the last page. */
  readonly rate_now?: number;
  readonly error?: string;
  /** The process that works on it, and until when it does so without a sign of life. */
  readonly claim_id?: string;
  readonly claim_until?: string;
}

/** What changes of an operation; what it takes, and until when, does not. */
type Changeable = Omit<
  Operation,
  | 'operation_id'
  | 'kind'
  | 'filter'
  | 'asked'
  | 'limit'
  | 'max_age_ms'
  | 'integration_config_id'
  | 'include_stopped'
  | 'cut_off'
  | 'created_by'
>;

export interface OperationChange {
  readonly set: Partial<Changeable>;
  readonly remove?: readonly (keyof Changeable)[];
}

export interface OperationStore {
  /** The operation as it is stored; what is stored under its id already wins. */
  create(operation: Operation): Promise<Operation>;
  read(operation_id: string): Promise<Operation | undefined>;
  /** The operation as changed; undefined when somebody else changed it since it was read. */
  change(was: Operation, change: OperationChange): Promise<Operation | undefined>;
  /** Newest first. */
  list(page: { readonly limit: number; readonly before?: string }): Promise<readonly Operation[]>;
}

/** NotificationLog, as an operation reads it: page by page, consistently. After a full page an empty one may be the last. */
export interface OperationRows {
  page(request: {
    readonly source: Source;
    readonly period: Period;
    readonly filter: SearchFilter;
    readonly after?: Readonly<Record<string, string>>;
    readonly limit: number;
  }): Promise<{ readonly rows: readonly ForeignRow[]; readonly next?: Readonly<Record<string, string>> }>;
}

/** The indexes that an operation reads, in this order. */
export function sourcesOf({
  kind,
  include_stopped,
  reads_stopped,
}: Pick<Operation, 'kind' | 'include_stopped' | 'reads_stopped'>): readonly Source[] {
  if (kind === 'redrive') return include_stopped || reads_stopped ? ['dead', 'created'] : ['dead'];
  return kind === 'give_up' || kind === 'correct' ? ['dead'] : ['due'];
}

export function added(a: Counts, b: Counts): Counts {
  const excluded: Partial<Record<Exclusion, number>> = { ...a.excluded };
  for (const [reason, count] of Object.entries(b.excluded) as [Exclusion, number][]) {
    excluded[reason] = (excluded[reason] ?? 0) + count;
  }
  return {
    matched: a.matched + b.matched,
    taken: a.taken + b.taken,
    left_to_sweep: a.left_to_sweep + b.left_to_sweep,
    excluded,
  };
}

export function isActive({ status }: Pick<Operation, 'status'>): boolean {
  return status === 'previewing' || status === 'running';
}

export function isOver({ status }: Pick<Operation, 'status'>): boolean {
  return status === 'done' || status === 'cancelled';
}

/** The preview is made. Of what an operator may have asked for meanwhile, only a cancel is possible. */
export function previewed(
  { wanted, progress }: Operation,
  found: Pick<Operation, 'preview' | 'sample' | 'checkpoint'>,
  now: Date,
): OperationChange {
  const change = wanted === 'cancel' ? cancelled(progress, now) : { set: { status: 'ready' } as const, remove: LEASE };
  return { ...change, set: { ...change.set, ...found } };
}

/** What only an operation has that a process works on. */
const AT_WORK = ['wanted', 'rate_now', ...LEASE] as const;

/** What an operator asked for, now that no page is in work. */
export function applyRequestedStop({ wanted, progress }: Operation, now: Date): OperationChange {
  return wanted === 'cancel' ? cancelled(progress, now) : { set: { status: 'paused' }, remove: AT_WORK };
}

/** Nobody works on it: an operator can resume it. */
export const failed = (error: string): OperationChange => ({ set: { status: 'failed', error }, remove: AT_WORK });

export function cancelled(progress: Counts, now: Date, error?: string): OperationChange {
  return {
    set: { status: 'cancelled', progress, ended_at: now.toISOString(), ...(error !== undefined && { error }) },
    remove: ['page', ...AT_WORK],
  };
}

/** The page is counted; reading goes on at the next one, or the operation is done. */
export function counted(
  next: Checkpoint | undefined,
  { progress, rate_now }: { readonly progress: Counts; readonly rate_now?: number },
  now: Date,
): OperationChange {
  if (next !== undefined)
    return { set: { progress, checkpoint: next, ...(rate_now !== undefined && { rate_now }) }, remove: ['page'] };
  return { set: { progress, status: 'done', ended_at: now.toISOString() }, remove: ['page', ...AT_WORK] };
}
