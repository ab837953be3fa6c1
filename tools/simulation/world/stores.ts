import { ENDED_NOTIFICATIONS, FOREIGN_ROWS } from '../../../lib/constructs/indexing/stream-filters.ts';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import type { IntakeRecord } from '../../../src/core/intake/ports.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import type { RetryRecord } from '../../../src/core/model/notification.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { DueIndex } from '../../../src/core/model/work-index.ts';
import type { AuditRecord } from '../../../src/core/operator/audit.ts';
import type { Operation } from '../../../src/core/operator/operations/operation.ts';
import { notificationOutcomes } from '../../../src/core/outcomes/notification-outcomes.ts';
import type { Outcome, OutcomeContext } from '../../../src/core/outcomes/outcome.ts';
import type { SweepLog } from '../../../src/core/sweep/sweep-run.ts';
import { matchesAny } from '../../../src/local/emulator/events/event-filter.ts';
import type { JsonObject } from '../../../src/local/support/json.ts';
import type { Stored } from '../audit/memory.ts';
import { isIntruder } from '../audit/promises.ts';
import { MemoryTables } from '../twins/memory-tables.ts';
import { MemoryBreakers } from '../twins/pipeline-state.ts';
import { memoryRestore } from '../twins/restore-store.ts';
import {
  createMemoryIntake,
  createMemoryOperationRows,
  createMemoryOperations,
  memoryDueIndex,
} from '../twins/row-stores.ts';

type Method = (...args: unknown[]) => Promise<unknown>;

/** The tables, as the ports of the pipeline; they pass the contract suites of test/contract. */
export class Stores {
  readonly tables: MemoryTables;
  readonly breakers = new MemoryBreakers();
  /** The tables as they were copied. */
  readonly backup = {
    log: new Map<string, Stored>(),
    content: new Map() as MemoryTables['content'],
    retryLog: new Map<string, RetryRecord>(),
  };
  readonly #acts = new Map<string, AuditRecord>();
  readonly #requests = new Map<string, IntakeRecord>();
  readonly #operations = new Map<string, Operation>();
  /** When the last sweep began that walked everything, and the last express run. */
  readonly #sweeps = new Map<string, string>();
  /** All that is stored: every value is replaced, never changed. */
  readonly maps: readonly Map<string, unknown>[];
  readonly #rooms: Readonly<Record<string, object>>;

  /** @param channels of the dispatcher; all unless given */
  constructor(clock: Clock, random: () => number, channels?: readonly Channel[]) {
    const tables = new MemoryTables(clock, random);
    const { log, retryLog, content } = tables;
    this.tables = tables;
    const others = [this.#requests, this.#sweeps, this.#operations, ...Object.values(this.backup), this.#acts];
    this.maps = [log, retryLog, content, this.breakers.breakers, ...others] as Map<string, unknown>[];
    const restored = memoryRestore(tables, { log: this.backup.log }, this.#requests);
    const copiesOf = (copies: Partial<Stores['backup']>) => memoryRestore(tables, copies, this.#requests).copies;
    this.#rooms = {
      rows: tables.rows,
      eventRows: tables.eventRows,
      operatorRows: tables.operatorRows,
      forgetRows: tables.forgetRows,
      erasable: tables.erasable,
      log: sweepLog(this.#sweeps),
      corrections: tables.corrections,
      records: tables.records,
      contents: tables.contents,
      successors: tables.successors,
      index: indexOf(tables, channels),
      malformed: tables.malformed,
      indexing: { ...contentsOf(tables), ...tables.contentSteps },
      breakers: this.breakers.store,
      reports: {
        change: tables.rows.change,
        settle: tables.rows.settle,
        ...contentsOf(tables),
        ...tables.contentSteps,
        readRow: async (log_id: string) => log.get(log_id),
        readRecords: async (log_id: string) =>
          [...retryLog.values()].filter(({ original_log_id }) => original_log_id === log_id),
      },
      audit: auditOf(tables, this.#requests),
      intake: createMemoryIntake(tables, this.#requests),
      operations: createMemoryOperations(this.#operations),
      candidates: createMemoryOperationRows(tables),
      operator: { noted: async (record: AuditRecord) => void this.#acts.set(record.audit_id, record) },
      restoreCopies: copiesOf(this.backup),
      restoreDeployed: restored.deployed,
      restoreEither: restored.either,
      restorePut: restored.put,
      restoreOther: {
        acceptedRow: restored.acceptedRow,
        audit: async () => [...this.#acts.values()],
        operations: async () => [...this.#operations.values()],
      },
    };
  }

  call(port: string, args: readonly unknown[]): Promise<unknown> {
    const [room = '', method = ''] = port.split('.');
    const found = (this.#rooms[room] as Readonly<Record<string, Method>> | undefined)?.[method];
    if (found === undefined) throw new Error(`The world has no ${port}.`);
    return found.apply(this.#rooms[room], [...args]);
  }
}

/** What takes a row in, beside the steps that store its content. */
function contentsOf(tables: MemoryTables) {
  return {
    index: (...args: Parameters<MemoryTables['index']>) => tables.index(...args),
    hasContent: (log_id: string) => tables.hasContent(log_id),
  };
}

/** All that `ops verify` reads. */
function auditOf({ log, content, retryLog }: MemoryTables, requests: ReadonlyMap<string, IntakeRecord>) {
  const page = (items: readonly object[]) => ({ items: items.map((item) => ({ ...item })), read_units: 0 });
  const rows = () => [...log.values()].filter((row) => !isIntruder(row));
  return {
    rows: async () => page(rows()),
    read: async (log_ids: readonly string[]) => page(rows().filter(({ log_id }) => log_ids.includes(String(log_id)))),
    dead: async () => page(rows().filter(({ work_queue }) => String(work_queue).startsWith('dead#'))),
    contents: async () =>
      page(
        [...content].map(([log_id, { tenant_id, erased_at }]) => {
          return { log_id, tenant_id, erased_at, accepted_at: requests.get(log_id)?.accepted_at };
        }),
      ),
    records: async (log_id: string) =>
      page([...retryLog.values()].filter(({ original_log_id }) => original_log_id === log_id)),
  };
}

/** One page has the entries of all shards: a small world has few. */
function indexOf({ log, shards }: MemoryTables, channels?: readonly Channel[]): Pick<DueIndex, 'page'> {
  const index = memoryDueIndex(log, shards, channels);
  return {
    page: async (queue, query) => {
      const all = Array.from({ length: BASE_SHARDS.work }, (_, shard) => queue.replace(/\d+$/, String(shard)));
      const pages = await Promise.all(all.map((one) => index.page(one, query)));
      const malformed = pages.flatMap((page) => page.malformed ?? []);
      return { items: pages.flatMap(({ items }) => items), ...(malformed.length > 0 && { malformed }) };
    },
  };
}

/** What is known of the sweeps before. */
export function sweepLog(sweeps: Map<string, string>): SweepLog {
  return {
    lastCompleted: async () => sweeps.get('completed'),
    lastExpress: async () => sweeps.get('express'),
    lastAhead: async () => sweeps.get('ahead'),
    record: async ({ complete, everything, started_at }) => {
      if (complete && everything) sweeps.set('completed', started_at);
    },
    recordExpress: async (started_at) => void sweeps.set('express', started_at),
    recordAhead: async (started_at) => void sweeps.set('ahead', started_at),
  };
}

const patternsOf = (filters: readonly Readonly<Record<string, unknown>>[]) =>
  filters.map((filter) => JSON.parse(String(filter['pattern'])) as JsonObject);
const FOREIGN = patternsOf(FOREIGN_ROWS);
const ENDED = patternsOf(ENDED_NOTIFICATIONS);

/** Whether the indexer's event source takes the image, by the deployed filter. */
export const passesFilter = (row: Stored): boolean => isTaken(row, FOREIGN);

/** Each is known by what it stands for. */
const CONTEXT: OutcomeContext = { hash: (text) => text, seen_at: '2026-03-02T00:00:00.000Z' };

/** What an image tells, as deployed: by the mapping's filter, then by the function. */
export function toldOf(image: Stored, context = CONTEXT): Outcome[] {
  return isTaken(image, ENDED) ? notificationOutcomes(image, context) : [];
}

function isTaken(row: Stored, patterns: readonly JsonObject[]): boolean {
  const NewImage = JSON.parse(JSON.stringify(toItem(row))) as JsonObject;
  return matchesAny(patterns, { eventName: 'MODIFY', dynamodb: { NewImage } });
}
