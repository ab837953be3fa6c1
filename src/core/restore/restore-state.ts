import type { ForeignRow, NotificationRow, RetryRecord } from '../model/notification.ts';
import type { Clock } from '../model/time.ts';
import type { PageCursor } from '../model/work-index.ts';
import { type Page, SEGMENTS } from '../verify/verification.ts';
import { type Question, RESTORED_AS } from './restored-states.ts';
import type { RestoreTerms, SurvivingContent } from './survivors.ts';

/** What only a person can decide, with the facts. */
export interface Asked {
  readonly why: Question;
  readonly log_id?: string;
  readonly tenant_id?: string;
  readonly is_kept: boolean;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** In this order, so that whatever a row needs is there when it comes. */
export const RESTORE_PHASES = ['records', 'contents', 'rows', 'without_row', 'done'] as const;

const COUNTED = ['there', 'expired', ...RESTORED_AS, 'accepted_since'] as const;
type Copied = { there: number; copied: number };

export interface RestoreState {
  phase: (typeof RESTORE_PHASES)[number];
  cursors: (PageCursor | 'end' | null)[];
  scanned: number;
  readonly records: Copied;
  readonly contents: Copied & { erased: number };
  readonly rows: Record<(typeof COUNTED)[number], number>;
  /** What has no record may have been sent. */
  records_lost: boolean;
  readonly asked: Asked[];
  asked_in_all: number;
  read_units: number;
}

export function newRestore(): RestoreState {
  return {
    phase: 'records',
    cursors: Array<null>(SEGMENTS).fill(null),
    scanned: 0,
    records: { there: 0, copied: 0 },
    contents: { there: 0, copied: 0, erased: 0 },
    rows: Object.fromEntries(COUNTED.map((name) => [name, 0])) as RestoreState['rows'],
    records_lost: false,
    asked: [],
    asked_in_all: 0,
    read_units: 0,
  };
}

const NAMED = 1_000;

export function ask(state: RestoreState, asked: Asked): void {
  state.asked_in_all += 1;
  if (state.asked.length < NAMED) state.asked.push(asked);
}

export type ContentItem = Readonly<Record<string, unknown>>;
export type Pages<T> = (segment: number, after: PageCursor | null) => Promise<Page<T>>;

/** The restored tables, and those that are deployed. What is put is put only where nothing is there. */
export interface RestorePorts {
  readonly copies: {
    readonly records?: Pages<RetryRecord>;
    readonly contents?: Pages<ContentItem>;
    readonly rows?: Pages<ForeignRow>;
  };
  readonly deployed: {
    readonly rowPage: Pages<ForeignRow>;
    readonly contentPage: Pages<ContentItem>;
    rows(log_ids: readonly string[]): Promise<ReadonlyMap<string, ForeignRow>>;
    contents(log_ids: readonly string[]): Promise<ReadonlyMap<string, SurvivingContent>>;
    /** The ids of those that are there. */
    records(records: readonly RetryRecord[]): Promise<ReadonlySet<string>>;
  };
  /** Of both tables; the deployed one comes first. */
  readonly either: {
    row(log_id: string): Promise<ForeignRow | undefined>;
    content(log_id: string): Promise<SurvivingContent | undefined>;
    records(log_id: string): Promise<readonly RetryRecord[]>;
  };
  readonly put: {
    record(record: RetryRecord): Promise<void>;
    /** @param erased_at only what keeps others from storing it again is put */
    content(item: ContentItem, erased_at?: string): Promise<void>;
    row(row: ForeignRow): Promise<void>;
  };
  /**
   * The row of a request that was accepted, as it was first put, and the record of a send that it reported.
   * @returns undefined where its content does not say how
   */
  readonly acceptedRow: (
    content: ContentItem,
  ) => Promise<{ readonly row: ForeignRow | NotificationRow; readonly record?: RetryRecord } | undefined>;
}

export interface RestoreRun extends Omit<RestoreTerms, 'now' | 'records_survived' | 'forgotten'> {
  readonly ports: RestorePorts;
  /** By tenant: when somebody was forgotten since, and who did it. */
  readonly forgotten: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** What else operators did since, of which the audit log does not name all. */
  readonly unnamed: readonly Readonly<Record<string, string | number>>[];
  readonly dry_run: boolean;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  readonly rate: number;
  readonly isStopping: () => boolean;
  readonly onProgress?: (state: RestoreState) => void;
}
