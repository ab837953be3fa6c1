import { isDeepStrictEqual } from 'node:util';
import type { ClaimStore, RecordStore } from '../../core/delivery/ports.ts';
import { isStored, RECORD_GUARD, retryLogId } from '../../core/delivery/retry-record.ts';
import { type ContentStore, ContentUnreadableError } from '../../core/delivery/send.ts';
import type { EventRows } from '../../core/delivery-events/apply-delivery-event.ts';
import { type ContentOwner, type IndexStore, RowUnstorableError } from '../../core/indexing/index-row.ts';
import type { RowScan } from '../../core/indexing/reconcile.ts';
import { type ForeignRow, hasContent } from '../../core/model/foreign-row.ts';
import {
  type NotificationContent,
  type NotificationRow,
  type RetryRecord,
  UPDATED_BY,
} from '../../core/model/notification.ts';
import { type RowChange, wasApplied, wasSettled } from '../../core/model/row-change.ts';
import type { Clock } from '../../core/model/time.ts';
import { setAside } from '../../core/model/work/set-aside.ts';
import { workQueuePrefix } from '../../core/model/work-index.ts';
import type { MalformedEntries } from '../../core/sweep/malformed-entries.ts';
import { claimGuard, EVENT_COLUMNS, IMAGE_COLUMNS, STATE_COLUMNS } from '../dynamodb/table/guarded-columns.ts';
import { columnsOf } from '../dynamodb/table/guarded-update.ts';
import { memoryDueIndex } from './memory-due-index.ts';
import { MemoryShards } from './memory-pipeline-state.ts';
import { type KeptContent, memorySuccessors } from './memory-successors.ts';

type StoredRow = Record<string, unknown>;

/** The three tables in memory: twins of the DynamoDB stores that give the same answers, for tests. */
export class MemoryTables implements IndexStore {
  readonly log = new Map<string, StoredRow>();
  readonly retryLog = new Map<string, RetryRecord>();
  readonly content = new Map<string, KeptContent>();
  readonly shards = new MemoryShards();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  row(log_id: string): NotificationRow | undefined {
    const row = this.log.get(log_id);
    return row && ({ ...COUNTERS, ...withoutNulls(row) } as NotificationRow);
  }

  readonly rows: ClaimStore = {
    claim: async ({ log_id, tenant_id, channel, priority, due }, claim_until, claim_id) => {
      const row = this.row(log_id);
      if (row === undefined) return { claimed: false };
      const claimable =
        row.work_queue?.startsWith(workQueuePrefix('due', priority)) === true &&
        row.work_at === due &&
        row.channel === channel &&
        row.tenant_id === tenant_id &&
        row.send_status !== 'SENDING' &&
        row.send_status !== 'SUCCESS' &&
        // DynamoDB refuses arithmetic on anything else, and compares no two types.
        [row.attempts_left, row.send_attempts, row.last_attempt].every((counter) => typeof counter === 'number') &&
        row.attempts_left > 0;
      if (!claimable) return { claimed: row.send_status === 'SENDING' && row.claim_id === claim_id, row };
      this.#apply(log_id, {
        set: {
          send_status: 'SENDING',
          claim_until,
          claim_id,
          send_attempts: row.send_attempts + 1,
          attempts_left: row.attempts_left - 1,
          last_attempt: row.last_attempt + 1,
        },
        remove: ['next_retry_at'],
        by: row.updated_by,
      });
      const claimed = this.row(log_id);
      return claimed === undefined ? { claimed: false } : { claimed: true, row: claimed };
    },
    read: async (log_id) => this.row(log_id),
    change: async (was, change) => {
      if (!this.#isAsRead(was, claimGuard(was))) return this.#wasApplied(was.log_id, change);
      this.#apply(was.log_id, change);
      return true;
    },
    settle: async (claimed, change) => {
      const row = this.row(claimed.log_id);
      if (row === undefined) return false;
      const held = row.send_status === 'SENDING' && row.last_attempt === claimed.last_attempt;
      if (!held) return wasSettled(row, claimed, change);
      this.#apply(claimed.log_id, change);
      return true;
    },
  };

  readonly eventRows: EventRows = {
    read: async (log_id) => this.row(log_id),
    change: async (was, change) => {
      if (!this.#isAsRead(was, columnsOf(was, EVENT_COLUMNS))) return this.#wasApplied(was.log_id, change);
      this.#apply(was.log_id, change);
      return true;
    },
  };

  readonly records: RecordStore = {
    putIfAbsent: async (record) => {
      const stored = this.retryLog.get(record.retry_log_id);
      if (stored !== undefined) return isStored(record, stored);
      this.retryLog.set(record.retry_log_id, record);
      return true;
    },
    replace: async (record, read) => {
      const stored = this.retryLog.get(record.retry_log_id);
      if (stored === undefined || !isSame({ ...stored }, { ...read }, RECORD_GUARD)) return isStored(record, stored);
      this.retryLog.set(record.retry_log_id, record);
      return true;
    },
    find: async (log_id, attempt) => this.retryLog.get(retryLogId(log_id, attempt)),
  };

  readonly contents: ContentStore = {
    read: async ({ log_id, tenant_id }) => {
      const content = this.content.get(log_id);
      if (content === undefined) {
        throw new ContentUnreadableError('NotificationContent has no recipient or body for this notification.');
      }
      if (content.tenant_id !== tenant_id) {
        throw new ContentUnreadableError('The encrypted recipient belongs to another notification or tenant.');
      }
      const { tenant_id: _, sequence: __, fallback: ___, ...rest } = content;
      return rest;
    },
  };

  readonly successors = memorySuccessors({ log: this.log, content: this.content, row: (log_id) => this.row(log_id) });
  readonly dueIndex = memoryDueIndex(this.log, this.shards);
  readonly scan = memoryRowScan(this.log, this.content);

  readonly malformed: MalformedEntries = {
    setAside: async ({ log_id, work_queue, work_at, faults }) => {
      const row = this.log.get(log_id);
      if (row?.['work_queue'] !== work_queue || row['work_at'] !== work_at) return undefined;
      const { set, why } = setAside(faults, this.#clock());
      this.#apply(log_id, { set: row['send_status'] === 'SUCCESS' ? {} : set, remove: ['work_queue', 'work_at'] });
      return why;
    },
  };

  async index(image: ForeignRow, set: ForeignRow, remove: readonly string[]): Promise<boolean> {
    const row = this.log.get(String(image['log_id']));
    if (row === undefined || !isSame(row, image, IMAGE_COLUMNS)) return false;
    // As the store: an attribute without a value is left as it is.
    const given = Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined));
    this.#apply(String(image['log_id']), { set: given, remove: remove as (keyof NotificationRow)[] });
    return true;
  }

  async putContent(
    { log_id, tenant_id, sequence, amends }: ContentOwner,
    content: Partial<NotificationContent>,
  ): Promise<string | undefined> {
    const stored = this.content.get(log_id);
    if (amends && stored?.tenant_id !== tenant_id) throw new RowUnstorableError('the content that it lacks');
    if (stored?.sequence === undefined || BigInt(stored.sequence) <= BigInt(sequence)) {
      const whole = { ...(amends ? stored : {}), ...content } as NotificationContent;
      this.content.set(log_id, { ...whole, tenant_id, sequence });
    }
    return content.recipient === undefined ? undefined : `hash of ${tenant_id}/${content.recipient}`;
  }

  async hasContent(log_id: string): Promise<boolean> {
    return this.content.has(log_id);
  }

  /** A change that is repeated has the time of its first try. */
  #wasApplied(log_id: string, { set, remove = [] }: RowChange): boolean {
    const row = this.row(log_id);
    const updated_at = this.#clock().toISOString();
    return row !== undefined && wasApplied(row, { set: { ...set, updated_at }, remove });
  }

  #isAsRead({ log_id }: NotificationRow, guard: ForeignRow): boolean {
    const row = this.row(log_id);
    return row !== undefined && isSame({ ...row }, guard, Object.keys(guard));
  }

  /** @param change.by who wrote the row last: every write but a claim leaves our name */
  #apply(log_id: string, { set, remove = [], ...change }: RowChange & { readonly by?: string | undefined }): void {
    const by = 'by' in change ? change.by : UPDATED_BY;
    const next: StoredRow = {
      ...this.log.get(log_id),
      ...set,
      updated_at: this.#clock().toISOString(),
      ...(by !== undefined && { updated_by: by }),
    };
    for (const name of remove) delete next[name];
    this.log.set(log_id, next);
  }
}

const COUNTERS = { send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1 };

/** As a row that is read from the table (item.ts): only a column of the state keeps its NULL. */
function withoutNulls(row: StoredRow): StoredRow {
  const isState = (name: string) => STATE_COLUMNS.some((column) => column === name);
  if (!Object.values(row).includes(null)) return row;
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => value !== null || isState(name)));
}

function isSame(row: StoredRow, was: ForeignRow, columns: readonly string[]): boolean {
  return columns.every((name) => isDeepStrictEqual(row[name], was[name]));
}

/** Rows per page of a scan. */
const SCANNED = 250;

/** The reconciler's scan over rows in memory, for those that the pipeline may have missed. */
function memoryRowScan(
  log: ReadonlyMap<string, StoredRow>,
  content: ReadonlyMap<string, { readonly sequence?: string }>,
): RowScan {
  return {
    page: async (after) => {
      const from = Number(after?.['from'] ?? 0);
      const page = [...log.values()].slice(from, from + SCANNED);
      const next = from + SCANNED < log.size ? { from: from + SCANNED } : undefined;
      const rows = page.filter((row) => !isOurs(row));
      return { rows, scanned: page.length, read_units: page.length / 10, ...(next && { next }) };
    },
    read: async (log_id) => {
      const row = log.get(log_id);
      return row && { row: { ...row }, sequence: content.get(log_id)?.sequence ?? '0' };
    },
  };
}

function isOurs(row: StoredRow): boolean {
  if (hasContent(row)) return false;
  const { updated_by, work_queue, failure_reason, send_status, history_bucket } = row;
  const ours = updated_by === UPDATED_BY && (typeof work_queue === 'string' || typeof failure_reason === 'string');
  return ours || (send_status === 'SUCCESS' && history_bucket !== undefined);
}
