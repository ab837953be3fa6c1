import { isFree, ofGeneration } from '../../../src/adapters/dynamodb/intake/intake-store.ts';
import type { SuccessorStore } from '../../../src/core/delivery/failover.ts';
import type { StoredLife } from '../../../src/core/indexing/index-row.ts';
import type { RowScan } from '../../../src/core/indexing/reconcile.ts';
import type { IntakeRecord, IntakeStore } from '../../../src/core/intake/ports.ts';
import { type Channel, PRIORITIES, providerHost } from '../../../src/core/model/channels.ts';
import {
  type ForeignRow,
  hasContent,
  type NotificationContent,
  type NotificationRow,
  UPDATED_BY,
} from '../../../src/core/model/notification.ts';
import { turnOf } from '../../../src/core/model/row-change.ts';
import { type DueIndex, type DueItem, type PageCursor, parseWorkQueue } from '../../../src/core/model/work-index.ts';
import { readEntries } from '../../../src/core/model/work-rules.ts';
import type { Operation, OperationRows, OperationStore } from '../../../src/core/operator/operations/operation.ts';
import { matches } from '../../../src/core/operator/search-filter.ts';
import type { KeptVerification, VerificationStore } from '../../../src/core/verify/kept-verification.ts';
import { holds, isAny } from './guards.ts';
import type { MemoryShards } from './pipeline-state.ts';

type Stored = Record<string, unknown>;

/** The work index over rows in memory. */
export function memoryDueIndex(
  log: ReadonlyMap<string, Stored>,
  shards: MemoryShards,
  channels?: readonly Channel[],
): DueIndex {
  return {
    shards: async () => (await shards.read()).work,
    page: async (work_queue, { until, limit, from = '', after, channels: only }) => {
      const inside = (work_at: string) => work_at >= from && work_at <= until;
      const found: DueItem[] = [];
      for (const row of log.values())
        if (row['work_queue'] === work_queue && inside(String(row['work_at']))) found.push(row as unknown as DueItem);
      if (found.length === 0) return { items: [] };
      const items = found
        .sort((a, b) => compare(position(a), position(b)))
        .filter((item) => after === undefined || position(item) > String(after['position']));
      const read = items.slice(0, limit);
      const last = read.at(-1);
      const page = read.filter(({ channel }) => only?.includes(channel) ?? true);
      const next: PageCursor | undefined = items.length > limit && last ? { position: position(last) } : undefined;
      return { ...readEntries(work_queue, page as unknown as ForeignRow[], until, channels), ...(next && { next }) };
    },
  };
}

const position = ({ work_at, log_id }: DueItem): string => `${work_at} ${log_id}`;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Content as it is kept, with its tenant and the place of its row in the stream. */
export type KeptContent = NotificationContent &
  StoredLife & {
    readonly tenant_id: string;
    readonly sequence?: string;
    /** By an operator. */
    readonly corrected_at?: string;
    /** Nothing is left of it but the mark. */
    readonly erased_at?: string;
  };

interface Tables {
  /** Draws the tokens of turns. */
  readonly random: () => number;
  readonly log: Map<string, Stored>;
  readonly content: Map<string, KeptContent>;
  row(log_id: string): NotificationRow | undefined;
}

/** Successors of failover among rows and contents in memory. */
export function memorySuccessors({ log, content: contents, row }: Omit<Tables, 'random'>): SuccessorStore {
  return {
    copyContent: async ({ log_id, tenant_id, life }, successor) => {
      const content = contents.get(log_id);
      if (content?.fallback === undefined || content.life !== life) return undefined;
      const { sequence: _, life: __, attempts_before: ___, corrected_at: ____, fallback, ...rest } = content;
      if (!contents.has(successor.log_id)) {
        contents.set(successor.log_id, { ...rest, recipient: fallback.recipient, sequence: '0' });
      }
      const { integration_config_id } = fallback;
      const provider_host = integration_config_id === undefined ? providerHost(fallback.recipient) : undefined;
      return {
        ...(integration_config_id !== undefined && { integration_config_id }),
        ...(provider_host !== undefined && { provider_host }),
        recipient_hash: `hash of ${tenant_id}/${fallback.recipient}`,
      };
    },
    put: async (successor) => {
      const stored = row(successor.log_id);
      if (stored === undefined) log.set(successor.log_id, { ...successor });
      return stored ?? successor;
    },
  };
}

/** IntakeStore on tables in memory: the twin of dynamodb/intake/intake-store.ts. */
export function createMemoryIntake(tables: Tables, records: Map<string, IntakeRecord> = new Map()): IntakeStore {
  const marked = (record: IntakeRecord): IntakeRecord => {
    const { erased_at } = tables.content.get(record.log_id) ?? {};
    return { ...record, ...(erased_at !== undefined && { erased_at }) };
  };
  return {
    async reserve({ record, tenant_id, content }, now) {
      const there = records.get(record.log_id);
      if (there !== undefined && !isAny(isFree(now), { ...there })) return marked(there);
      records.set(record.log_id, record);
      tables.content.set(record.log_id, { ...content, tenant_id });
      return undefined;
    },
    async find(log_id) {
      const there = records.get(log_id);
      return there && marked(there);
    },
    async advance(log_id, from_generation, expires_at) {
      const there = records.get(log_id);
      if (there === undefined || !holds(ofGeneration(log_id, from_generation), { ...there })) return;
      records.set(log_id, { ...there, latest_generation: from_generation + 1, expires_at });
    },
    async putRow(row, recipient, now) {
      const there = tables.log.get(row.log_id);
      if (!isAny(isFree(now), there)) return tables.row(row.log_id);
      const turn = turnOf({}, { set: row }, { now, random: tables.random });
      tables.log.set(row.log_id, { ...row, ...turn, recipient_hash: `hash of ${row.tenant_id}/${recipient}` });
      return undefined;
    },
    findRow: async (log_id) => tables.row(log_id),
  };
}

const MOST_ITEM_BYTES = 400 * 1_024;

/** VerificationStore in memory. @param written told the bytes of each write; above DynamoDB's limit it fails */
export function createMemoryVerification(written: (bytes: number) => Promise<void> = async () => {}) {
  let latest: KeptVerification | undefined;
  const store: VerificationStore & { readonly latest: KeptVerification | undefined } = {
    get latest() {
      return latest;
    },
    read: async () => latest && structuredClone(latest),
    async change(was, { set, remove = [] }) {
      if ((was?.version ?? 0) !== (latest?.version ?? 0)) return undefined;
      const next: Record<string, unknown> = { ...was, ...set, version: (was?.version ?? 0) + 1 };
      for (const name of remove) delete next[name];
      const bytes = Buffer.byteLength(JSON.stringify(next));
      if (bytes > MOST_ITEM_BYTES) throw new Error('ValidationException');
      latest = next as unknown as KeptVerification;
      await written(bytes);
      return structuredClone(latest);
    },
  };
  return store;
}

/** OperationStore in memory. */
export function createMemoryOperations(held = new Map<string, Operation>()): OperationStore {
  return {
    async create(operation) {
      const known = held.get(operation.operation_id);
      if (known !== undefined) return known;
      const first = { ...operation, version: 1 };
      held.set(operation.operation_id, first);
      return first;
    },
    read: async (operation_id) => held.get(operation_id),
    async change(was, { set, remove = [] }) {
      const found = held.get(was.operation_id);
      if (found === undefined || found.version !== was.version) return undefined;
      const next: Record<string, unknown> = { ...found, ...set, version: found.version + 1 };
      for (const name of remove) delete next[name];
      // The columns of an operation, with the change of some of them.
      const changed = next as unknown as Operation;
      held.set(was.operation_id, changed);
      return changed;
    },
    list: async ({ limit, before = '~' }) =>
      [...held.values()]
        .filter(({ operation_id }) => operation_id < before)
        .sort((a, b) => (a.operation_id < b.operation_id ? 1 : -1))
        .slice(0, limit),
  };
}

/** As text that orders partitions as they are walked: the most urgent first. */
const rankOf = (queue: ReturnType<typeof parseWorkQueue>): string =>
  queue === undefined ? '' : `${PRIORITIES.indexOf(queue.priority)}#${String(queue.shard).padStart(3, '0')}`;

/** OperationRows on the log in memory: by partition and time, as the index orders them. */
export function createMemoryOperationRows({ log }: Pick<Tables, 'log'>): OperationRows {
  return {
    async page({ source, period, filter, after, limit }) {
      const wanted = [...log.values()]
        .flatMap((row) => {
          const partition = String(row['work_queue'] ?? '');
          const at = String(source === 'created' ? row['created_at'] : row['work_at']);
          const queue = parseWorkQueue(partition);
          const isThere = source === 'created' || queue?.state === source;
          if (!isThere || at < period.from || at > period.to) return [];
          return [{ row, place: `${source === 'created' ? '' : rankOf(queue)} ${at} ${row['log_id']}` }];
        })
        .filter(({ row, place }) => matches(row, filter) && place > (after?.['place'] ?? ''))
        .sort((a, b) => (a.place < b.place ? -1 : 1));
      const found = wanted.slice(0, limit);
      const last = found.at(-1);
      return {
        rows: found.map(({ row }) => ({ ...row })),
        ...(found.length === limit && last && { next: { place: last.place } }),
      };
    },
  };
}

/** Rows per page of a scan. */
const SCANNED = 250;

/** The reconciler's scan over rows in memory, for those that the pipeline may have missed. */
export function memoryRowScan(
  log: ReadonlyMap<string, Stored>,
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
      return row && { row: { ...row }, sequence: content.get(log_id)?.sequence ?? '0', unseen: true };
    },
  };
}

function isOurs(row: Stored): boolean {
  if (hasContent(row)) return false;
  const { updated_by, work_queue, failure_reason, send_status, history_bucket } = row;
  const ours = updated_by === UPDATED_BY && (typeof work_queue === 'string' || typeof failure_reason === 'string');
  return ours || (send_status === 'SUCCESS' && history_bucket !== undefined);
}
