import * as guarded from '../../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import {
  type ClaimStore,
  type ContentStore,
  ContentUnreadableError,
  type RecordStore,
  type RowStore,
} from '../../../src/core/delivery/ports.ts';
import { isStored, RECORD_GUARD, retryLogId } from '../../../src/core/delivery/retry-record.ts';
import { malformedEntries } from '../../../src/core/delivery/take-over.ts';
import { CANCELLATION } from '../../../src/core/delivery/transitions/without-attempt.ts';
import type { EventRows } from '../../../src/core/delivery-events/apply-delivery-event.ts';
import type { Erasable } from '../../../src/core/forget/forget-one.ts';
import type { ContentOwner, IndexStore, StoredContent } from '../../../src/core/indexing/index-row.ts';
import { IMAGE_COLUMNS } from '../../../src/core/indexing/row-rules.ts';
import type {
  ForeignRow,
  NotificationContent,
  NotificationRow,
  RetryRecord,
} from '../../../src/core/model/notification.ts';
import * as changes from '../../../src/core/model/row-change.ts';
import { asRead, type Guard, type RowChange, STATE_COLUMNS } from '../../../src/core/model/row-change.ts';
import { maskedWords } from '../../../src/core/model/text.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { CorrectionStore } from '../../../src/core/operator/correct.ts';
import { memoryContentSteps, putInSteps } from './content-steps.ts';
import { holds } from './guards.ts';
import { MemoryShards } from './pipeline-state.ts';
import { type KeptContent, memoryDueIndex, memoryRowScan, memorySuccessors } from './row-stores.ts';

type StoredRow = Record<string, unknown>;

/** The three tables in memory: twins of the DynamoDB stores that give the same answers, for tests. */
export class MemoryTables implements IndexStore {
  readonly log = new Map<string, StoredRow>();
  readonly retryLog = new Map<string, RetryRecord>();
  readonly content = new Map<string, KeptContent>();
  readonly shards = new MemoryShards();
  readonly random: () => number;
  readonly #clock: Clock;

  /** @param random draws the tokens of turns */
  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.random = random;
  }

  row(log_id: string): NotificationRow | undefined {
    const row = this.log.get(log_id);
    return row && ({ ...COUNTERS, ...withoutNulls(row) } as NotificationRow);
  }

  readonly rows: ClaimStore = {
    claim: async (message, claim_until, claim_id) => {
      const { log_id } = message;
      const row = this.row(log_id);
      if (row === undefined) return { claimed: false };
      const stored = this.log.get(log_id);
      // DynamoDB refuses arithmetic on anything but a number.
      const canCount = COUNTED.every((counter) => typeof stored?.[counter] === 'number');
      if (!canCount || !holds(changes.claimable(message), stored))
        return { claimed: row.send_status === 'SENDING' && row.claim_id === claim_id, row };
      const { send_attempts, attempts_left: left, last_attempt } = row;
      const counted = { send_attempts: send_attempts + 1, attempts_left: left - 1, last_attempt: last_attempt + 1 };
      const set = { send_status: 'SENDING', claim_until, claim_id, updated_at: this.#now(), ...counted } as const;
      this.#apply(log_id, { set, remove: ['next_retry_at'] });
      const claimed = this.row(log_id);
      return claimed === undefined ? { claimed: false } : { claimed: true, row: claimed };
    },
    read: async (log_id) => this.row(log_id),
    change: (was, change) => this.#change(was, change, changes.asPlanned(was)),
    settle: async (claimed, change) => {
      if (this.#write(claimed.log_id, this.#stamped(claimed, change), changes.settledBy(claimed, change))) return true;
      const row = this.row(claimed.log_id);
      return row !== undefined && changes.wasSettled(row, claimed, change);
    },
  };

  readonly eventRows: EventRows = {
    ...this.#guarded(guarded.EVENT_COLUMNS),
    change: async (was, change, successor) => {
      const guard = asRead({ ...was }, guarded.EVENT_COLUMNS);
      if (successor === undefined) return this.#change(was, change, guard);
      const both =
        holds(guard, this.log.get(was.log_id)) &&
        this.#write(successor.log_id, this.#stamped(successor, CANCELLATION), asRead(successor, STATE_COLUMNS));
      return both && this.#write(was.log_id, this.#stamped(was, change), guard);
    },
  };
  readonly operatorRows: RowStore = this.#guarded(STATE_COLUMNS);
  readonly forgetRows: RowStore = this.#guarded(guarded.ERASED_COLUMNS);

  /** The twin of createOperatorRows and its like in dynamodb/delivery/guarded-rows.ts. */
  #guarded(columns: readonly string[]): RowStore {
    return {
      read: async (log_id) => this.row(log_id),
      change: (was, change) => this.#change(was, change, guarded.asFound(was, columns)),
    };
  }

  /** The twin of dynamodb/operator/correction-store.ts: its transaction, which its client repeats without harm. */
  readonly corrections: CorrectionStore = {
    read: async (log_id) => this.row(log_id),
    correct: async (was, { set, remove }, content) => {
      const { log_id, tenant_id } = was;
      const there = this.content.get(log_id);
      if (there?.tenant_id !== tenant_id || there.erased_at !== undefined) return false;
      const { recipient } = content;
      if (recipient !== undefined) this.#maskRecords(log_id);
      const recipient_hash = recipient && `hash of ${tenant_id}/${recipient}`;
      const change = { set: { ...set, ...(recipient_hash && { recipient_hash }) }, ...(remove && { remove }) };
      if (!this.#write(log_id, this.#stamped(was, change), changes.asPlanned(was))) {
        const row = this.row(log_id);
        return row !== undefined && changes.wasApplied(row, change);
      }
      const corrected = {
        corrected_at: this.#now(),
        attempts_before: 0,
        ...(set.life !== undefined && { life: set.life }),
      };
      const masked = recipient === undefined ? {} : maskedWords(there);
      this.content.set(log_id, { ...there, ...masked, ...content, ...corrected });
      return true;
    },
  };

  #maskRecords(log_id: string): void {
    for (const [id, record] of this.retryLog) {
      if (record.original_log_id === log_id) this.retryLog.set(id, { ...record, ...maskedWords(record) });
    }
  }

  readonly records: RecordStore = {
    putIfAbsent: async (record) => {
      const stored = this.retryLog.get(record.retry_log_id);
      if (stored !== undefined) return isStored(record, stored);
      this.retryLog.set(record.retry_log_id, record);
      return true;
    },
    replace: async (record, read) => {
      const stored = this.retryLog.get(record.retry_log_id);
      if (!holds(asRead(read, RECORD_GUARD), { ...stored })) return isStored(record, stored);
      this.retryLog.set(record.retry_log_id, record);
      return true;
    },
    find: async (log_id, attempt) => this.retryLog.get(retryLogId(log_id, attempt)),
  };

  readonly contents: ContentStore = {
    read: async ({ log_id, tenant_id }) => {
      const content = this.content.get(log_id);
      if (content === undefined || content.erased_at !== undefined) {
        throw new ContentUnreadableError('NotificationContent has no recipient or body for this notification.');
      }
      if (content.tenant_id !== tenant_id) {
        throw new ContentUnreadableError('The encrypted recipient belongs to another notification or tenant.');
      }
      const { tenant_id: _, sequence: __, fallback: ___, erased_at: ____, ...kept } = content;
      const { life: _____, attempts_before: ______, corrected_at: _______, ...rest } = kept;
      return rest;
    },
  };

  readonly contentSteps = memoryContentSteps(this);
  readonly successors = memorySuccessors({ log: this.log, content: this.content, row: (log_id) => this.row(log_id) });
  readonly dueIndex = memoryDueIndex(this.log, this.shards);
  readonly scan = memoryRowScan(this.log, this.content);

  readonly malformed = malformedEntries({ rows: this.operatorRows, records: this.records, clock: () => this.#clock() });

  async index(image: ForeignRow, set: ForeignRow, remove: readonly string[]): Promise<boolean> {
    const turn = changes.turnOf(image, { set, remove }, { now: this.#clock(), random: this.random });
    return this.#write(String(image['log_id']), { set: { ...set, ...turn }, remove }, asRead(image, IMAGE_COLUMNS));
  }

  putContent(owner: ContentOwner, content: Partial<NotificationContent>): Promise<StoredContent | undefined> {
    return putInSteps(this.contentSteps)(owner, content);
  }

  readonly erasable: Erasable = {
    eraseContent: async ({ log_id, tenant_id }) => {
      if (this.content.get(log_id)?.erased_at !== undefined) return false;
      const { sequence = '0', life } = this.content.get(log_id) ?? {};
      const nothing = { recipient: '', body: '', format: 'PLAIN', tenant_id, erased_at: this.#now() } as const;
      this.content.set(log_id, { ...nothing, sequence, ...(life !== undefined && { life }) });
      return true;
    },
    eraseRecords: async (log_id) => {
      const told = [...this.retryLog.values()].filter(
        (record) => record.original_log_id === log_id && (record.response_message ?? record.error_details),
      );
      for (const { response_message: _, error_details: __, ...record } of told)
        this.retryLog.set(record.retry_log_id, record);
      return told.length;
    },
  };

  readonly hasContent = async (log_id: string): Promise<boolean> => this.content.has(log_id);

  async #change(was: NotificationRow, change: RowChange, guard: Guard): Promise<boolean> {
    const stamped = this.#stamped(was, change);
    if (this.#write(was.log_id, stamped, guard)) return true;
    const row = this.row(was.log_id);
    // A change that is repeated has the time and the turn of its first try.
    if (row === undefined) return false;
    return changes.wasApplied(row, { ...stamped, set: { ...stamped.set, turn: row.turn } } as RowChange);
  }

  #now(): string {
    return this.#clock().toISOString();
  }

  /** Every write but a claim leaves our name. */
  #stamped(row: NotificationRow, change: RowChange): RowChange {
    return changes.stamped(row, change, { now: this.#clock(), random: this.random });
  }

  #write(log_id: string, change: Write, guard: Guard): boolean {
    if (!this.log.has(log_id) || !holds(guard, this.log.get(log_id))) return false;
    this.#apply(log_id, change);
    return true;
  }

  /** As the stores: an attribute without a value is left as it is. */
  #apply(log_id: string, { set, remove = [] }: Write): void {
    const given = Object.entries(set).filter(([, value]) => value !== undefined);
    const next: StoredRow = { ...this.log.get(log_id), ...Object.fromEntries(given) };
    for (const name of remove) delete next[name];
    this.log.set(log_id, next);
  }
}

/** Of a row: exactly these attributes. */
interface Write {
  readonly set: Readonly<object>;
  readonly remove?: readonly string[];
}

const COUNTED = ['send_attempts', 'attempts_left', 'last_attempt'] as const;
const COUNTERS = { send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1 };

/** As a row that is read from the table (item.ts): only a column of the state keeps its NULL. */
function withoutNulls(row: StoredRow): StoredRow {
  const isState = (name: string) => STATE_COLUMNS.some((column) => column === name);
  if (!Object.values(row).includes(null)) return row;
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => value !== null || isState(name)));
}
