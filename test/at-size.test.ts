import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { expect, it } from 'vitest';
import { newForget } from '../src/core/forget/forget-state.ts';
import { forget } from '../src/core/forget/run-forget.ts';
import { historyKeys } from '../src/core/model/history-index.ts';
import type { NotificationRow } from '../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../src/core/model/retry-policy.ts';
import { type PageCursor, workQueueOf } from '../src/core/model/work-index.ts';
import { BATCH_SIZE, type Batch, batchId, MOST_BATCHES } from '../src/core/newsletter/model/batch.ts';
import type { Email } from '../src/core/newsletter/model/email.ts';
import { type BatchEvents, EVENT_KINDS, NO_RECIPIENTS } from '../src/core/newsletter/model/recipient-state.ts';
import { emailView } from '../src/core/newsletter/views/email-view.ts';
import { createOperation, operate } from '../src/core/operator/operations/operate.ts';
import { runOperation } from '../src/core/operator/operations/run-operation.ts';
import { newVerification, SEGMENTS } from '../src/core/verify/verification.ts';
import { verify } from '../src/core/verify/verify.ts';
import { MemoryTables } from '../tools/simulation/twins/memory-tables.ts';
import { createMemoryOperations } from '../tools/simulation/twins/row-stores.ts';
import { iso, T0 } from './support/rows.ts';

/** Notifications, which no table holds; two million in CI. */
const SIZE = Number(process.env['AT_SIZE'] ?? 5_000);

/** Items of a page. */
const PAGE = 500;
/** Milliseconds of a page and of a read of a hundred rows, or a write; each with what others do beside it. */
const PAGE_MS = 25;
const CALL_MS = 10;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
/** Megabytes that live. */
function living(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

/** What deployed code takes that works through items which no table holds: the same ones are read again and again. */
class Ledger {
  read_units = 0;
  #now = T0.getTime();
  #items = 0;
  #heap_mb = 0;
  readonly #before = living();
  readonly #cpu = process.cpuUsage();
  readonly count: number;

  constructor(count: number) {
    this.count = count;
  }

  readonly clock = () => new Date(this.#now);
  readonly pause = async (ms: number): Promise<void> => {
    this.#now += ms;
  };

  /** Looks at the memory ten times, as a collection takes long. */
  met(items: number): void {
    const tenth = () => Math.floor((10 * this.#items) / this.count);
    const before = tenth();
    this.#items += items;
    if (tenth() > before) this.#heap_mb = Math.max(this.#heap_mb, living() - this.#before);
  }

  /** The pages of a segment, each of which stands for others. @param units read units of an item */
  pages<T>(page: readonly T[], segments: number, units: number) {
    const most = Math.ceil(this.count / segments);
    return async (segment: number, after: PageCursor | null) => {
      const from = Number(after?.['from'] ?? 0);
      const items = page.slice(0, Math.min(page.length, most - from, this.count - segment * most - from));
      this.#now += PAGE_MS / segments;
      this.met(items.length);
      const next = items.length === page.length ? { next: { from: from + items.length } } : {};
      return { items, read_units: items.length * units, ...next };
    };
  }

  figures() {
    const { user, system } = process.cpuUsage(this.#cpu);
    return {
      read_units: this.read_units,
      ms: this.#now - T0.getTime(),
      cpu_us: user + system,
      heap_mb: this.#heap_mb,
    };
  }
}

const AT = iso();
const createdAt = new Date(T0.getTime() - 86_400_000);
const rowOf = (log_id: string, more: Partial<NotificationRow>): NotificationRow => {
  const row = { log_id, tenant_id: 'tenant-1', channel: 'webhook', priority: 'normal', ...more } as NotificationRow;
  return { ...row, ...historyKeys(row, createdAt) };
};
const idOf = (i: number) => `log-${i}`;
const page = <T>(of: (i: number) => T): T[] => Array.from({ length: PAGE }, (_, i) => of(i));

/** Units of a row of 800 bytes and of a content of 1.6 KB in a scan. */
const [ROW_UNITS, CONTENT_UNITS] = [0.1, 0.2];
/** Read units a second; notifications a second, the most that is allowed. */
const [VERIFY_RATE, REPLAY_RATE] = [500, 500];

async function verifyAll(ledger: Ledger): Promise<void> {
  const done = { send_status: 'SUCCESS', send_attempts: 1, last_attempt: 0, retry_count: 0 } as const;
  const rows = page((i) => rowOf(idOf(i), done));
  const byId = new Map(rows.map((row) => [row.log_id, row]));
  const state = newVerification({ sample: ledger.count / 1_000, letters: false }, T0);
  await verify(state, {
    ports: {
      rows: {
        page: ledger.pages(rows, SEGMENTS, ROW_UNITS) as never,
        async read(log_ids) {
          await ledger.pause(CALL_MS / SEGMENTS);
          return { items: log_ids.flatMap((id) => (byId.get(id) as never) ?? []), read_units: log_ids.length };
        },
      },
      contents: {
        page: ledger.pages(
          page((i) => ({ log_id: idOf(i), tenant_id: 'tenant-1' })),
          SEGMENTS,
          CONTENT_UNITS,
        ),
      },
      records: async () => ({ items: [{ retry_attempt: 0, retry_status: 'SUCCESS' }], read_units: 1 }),
      letters: {
        channels: [],
        counts: async () => ({ letters: 0, on_the_way: 0 }),
        async *dead() {},
        async *walk() {},
      },
    },
    terms: async () => ({ shards: 8 }),
    random: Math.random,
    rate: VERIFY_RATE,
    clock: ledger.clock,
    pause: ledger.pause,
    isStopping: () => false,
  });
  expect(state).toMatchObject({
    violations: [],
    lost: 0,
    scanned: ledger.count,
    contents: ledger.count,
    phase: 'done',
  });
  ledger.read_units = state.read_units;
}

/** Dead notifications of one tenant, counted and then sent again. */
async function replayAll(ledger: Ledger): Promise<void> {
  const { count } = ledger;
  const dead = { send_status: 'FAILED', failure_reason: 'MAX_RETRIES', updated_at: createdAt.toISOString() } as const;
  const more = { ...dead, work_at: createdAt.toISOString(), send_attempts: 6, attempts_left: 0, last_attempt: 5 };
  const rows = page((i) => rowOf(idOf(i), { ...more, work_queue: workQueueOf('dead', 'normal', idOf(i)) }));
  const byId = new Map(rows.map((row) => [row.log_id, row]));
  const operations = createMemoryOperations();
  let read = 0;
  const deps = {
    operations,
    candidates: {
      async page({ limit, after }: { readonly limit: number; readonly after?: Readonly<Record<string, string>> }) {
        await ledger.pause(PAGE_MS);
        const from = Number(after?.['from'] ?? 0);
        const found = rows.slice(0, Math.min(limit, count - from));
        ledger.read_units += found.length * ROW_UNITS;
        ledger.met(found.length);
        return {
          rows: found.map((row) => ({ ...row })),
          ...(from + limit < count && { next: { from: String(from + limit) } }),
        };
      },
    },
    rows: {
      async read(log_id: string) {
        // Those of a page are read at once, and written at once.
        if (read++ % PAGE === 0) await ledger.pause(2 * CALL_MS);
        ledger.read_units += 1;
        return byId.get(log_id);
      },
      change: async () => true,
    },
    correct: async () => true,
    send: async () => {
      await ledger.pause(CALL_MS);
      return [];
    },
    newId: () => 'replay',
    startRun: async () => {},
    policy: DEFAULT_RETRY_POLICY,
    clock: ledger.clock,
    pause: ledger.pause,
  };
  const bounds = { kind: 'redrive', filter: { tenant_id: 'tenant-1' }, asked: {}, rate: REPLAY_RATE } as const;
  const { operation_id } = await createOperation({ ...bounds, include_stopped: false, created_by: 'mori' }, deps);
  await runOperation(operation_id, deps, () => false);
  await operate(operation_id, 'start', deps);
  await runOperation(operation_id, deps, () => false);
  expect(await operations.read(operation_id)).toMatchObject({ preview: { taken: count }, progress: { taken: count } });
}

/** Erases somebody who is the fallback of all these contents. */
async function eraseFallback(ledger: Ledger): Promise<void> {
  const { count } = ledger;
  const { forgetRows: rows, records, erasable } = new MemoryTables(ledger.clock);
  const state = newForget(T0);
  const contents = page((i) => ({ log_id: idOf(i), whose: 'fallback' as const }));
  let erased = 0;
  const eraseFallback = async () => {
    await ledger.pause(CALL_MS / SEGMENTS);
    erased += 1;
  };
  const nothing = async () => ({ items: [], read_units: 0 });
  const whose = async () => undefined;
  const found = { rowPage: nothing, contentPage: ledger.pages(contents, SEGMENTS, CONTENT_UNITS), whose };
  const ports = { ...found, contentOf: whose, eraseFallback, names: () => false, tenant_id: 'tenant-1' };
  const run = { run_id: 'manual-1', dry_run: false, rate: VERIFY_RATE, pause: ledger.pause, isStopping: () => false };
  await forget(state, { ...ports, rows, records, erasable, clock: ledger.clock }, run);
  ledger.read_units = state.read_units;
  expect({ erased, phase: state.phase }).toEqual({ erased: count, phase: 'done' });
}

/** Milliseconds of a page of a megabyte. */
const MEGABYTE_MS = 50;

/** Reads a mailing's batches and events as its status does, page after page of a megabyte. */
async function showStatus(ledger: Ledger): Promise<void> {
  const { count } = ledger;
  const common = { email_id: 'email-1', tenant_id: 'tenant-1', version: 30, created_at: AT, updated_at: AT };
  const counts = { ...NO_RECIPIENTS, submitted: BATCH_SIZE };
  const settled = { status: 'submitted', rendering: 0, member_segment: '', fallback_sending_domain: false, chunks: 20 };
  const progress = Array.from({ length: 8 }, (_, i) => ({ at: T0.getTime() / 1_000 + i, done: 125 * i }));
  const provider_id = '0100019a-1111-2222-3333-444444444444-000000';
  const batch = { ...common, ...settled, counts, excluded_by_reason: {}, failed_by_reason: {}, progress, provider_id };
  const told = Object.fromEntries(EVENT_KINDS.map((kind) => [kind, new Uint8Array(BATCH_SIZE / 8).fill(255)]));
  const itemsOf = async <T>(item: object, bytes: number) => {
    const stored = marshall(item);
    ledger.read_units += (count * bytes) / 4_096;
    await ledger.pause((MEGABYTE_MS * count * bytes) / 2 ** 20);
    return Array.from({ length: count }, (_, i) => ({ ...unmarshall(stored), batch_id: batchId(i) }) as T);
  };
  const batches = await itemsOf<Batch>(batch, Buffer.byteLength(JSON.stringify(batch)));
  const bytes = 100 + EVENT_KINDS.length * (BATCH_SIZE / 8 + 10);
  const stored = await itemsOf<BatchEvents & Record<string, Uint8Array>>({ ...common, ...told }, bytes);
  const events = stored.map((one) => ({
    ...one,
    bits: Object.fromEntries(EVENT_KINDS.flatMap((kind) => (one[kind] ? [[kind, one[kind]]] : []))),
  }));
  const prepared = { recipients: count * BATCH_SIZE, excluded: 0, excluded_by_reason: {}, batches: count, at: AT };
  const email = { ...common, newsletter_id: 'weekly', status: 'submitting', paused: false, slots: {}, prepared };
  ledger.met(count);
  const { counts: shown } = emailView({ email: email as unknown as Email, batches, events }, T0, 280);
  expect(shown).toMatchObject({ submitted: prepared.recipients, delivered: prepared.recipients });
}

it.each([
  // 1.3 read units each: one is the read of the row that a content belongs to, which must be as it is now.
  ['verify', SIZE, verifyAll, { read_units: 1.35, ms: 2.7, cpu: 60, heap: 20 }],
  // A preview beside them, a page of a hundred at a time.
  ['replay', SIZE / 10, replayAll, { read_units: 1.25, ms: 2.3, cpu: 300, heap: 20 }],
  [
    'the erasure of who is the fallback of all',
    Math.min(SIZE, 100_000),
    eraseFallback,
    { read_units: 0.21, ms: 5, cpu: 300, heap: 50 },
  ],
  // Of the most batches that a mailing may have, within what API Gateway waits and half of what its function has.
  [
    'the status of a mailing by its batches',
    Math.min(SIZE / 10, MOST_BATCHES),
    showStatus,
    { read_units: 0.7, ms: 0.8, cpu: 600, heap: 250 },
  ],
] as const)(
  '%s of %d takes the same for each, and no memory for all',
  async (_, count, work, most) => {
    const ledger = new Ledger(count);
    await work(ledger);
    const { read_units, ms, cpu_us, heap_mb } = ledger.figures();
    if (SIZE > 1_000_000) console.info(JSON.stringify({ count, ...ledger.figures() }));
    expect(read_units / count).toBeLessThanOrEqual(most.read_units);
    // Whoever erases looks again once, 70 seconds later; a second goes into compiling.
    expect(ms).toBeLessThanOrEqual(most.ms * count + 80_000);
    expect(cpu_us).toBeLessThanOrEqual(most.cpu * count + 1_000_000);
    expect(heap_mb).toBeLessThanOrEqual(most.heap);
  },
  1_200_000,
);
