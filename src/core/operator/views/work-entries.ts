import type { PageCursor } from '../../model/work-index.ts';

/** What the work index says of a notification, without its row. Another writer may have written anything. */
export interface WorkEntry {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: string;
  readonly work_at: string;
}

interface WorkEntriesQuery {
  readonly limit: number;
  /** Newest first; else oldest first. */
  readonly newest?: boolean;
  readonly after?: PageCursor;
  /** Only what a count needs, channel and work_at: half the CPU. */
  readonly brief?: boolean;
}

/** The work index, as an operator looks at it: one partition, one page, in either order. */
export interface WorkEntries {
  shards(): Promise<number>;
  page(
    work_queue: string,
    query: WorkEntriesQuery,
  ): Promise<{ readonly entries: readonly WorkEntry[]; readonly next?: PageCursor }>;
}
