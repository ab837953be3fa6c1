import { createHash } from 'node:crypto';
import { tablesOf } from '../../../src/adapters/deployment/stage-parts.ts';
import { createOperatorRows } from '../../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createOperationRows } from '../../../src/adapters/dynamodb/operator/operator-search.ts';
import { type Item, toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { verificationOf } from '../../../src/application/scans/verify.ts';
import { historyKeys } from '../../../src/core/model/history-index.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { createOperation, operate } from '../../../src/core/operator/operations/operate.ts';
import { SEGMENTS, type Verification } from '../../../src/core/verify/verification.ts';
import { START } from '../engine/virtual-time.ts';
import { createMemoryOperations, createMemoryVerification } from '../twins/row-stores.ts';
import { loadedIn, observed } from '../world/ports.ts';
import { ENVIRONMENT } from '../world/programs.ts';
import type { Found, NamedVolume, Volume } from './volume.ts';
import { evenly, idOf, type VolumeTable } from './volume-dynamodb.ts';

const [{ createHandler: createVerify }, { createHandler: createOperations }] = await loadedIn(
  { ...ENVIRONMENT, DEAD_LETTER_QUEUES: '{}', OPERATIONS_QUEUE: 'https://sqs/1/operations' },
  () =>
    Promise.all([
      import('../../../functions/verify/handler.ts'),
      import('../../../functions/console-operations/handler.ts'),
    ]),
);

/** Bytes of an entry of an index, of a row, of a content and of a retry record. */
export const BYTES = { entry: 150, row: 800, content: 1_600, record: 300 } as const;
/** 4 µs of CPU at 256 MB, a seventh of a core. */
const ITEM_MS = 0.03;
const CREATED = new Date(START.getTime() - 86_400_000);
const MINUTE = 60_000;
const TENANT = { tenant_id: 'tenant-1', channel: 'webhook', priority: 'normal' } as const;
const NAMES = { log: 'log', content: 'content', records: 'records' };
export const TABLES = tablesOf({
  notification_log: NAMES.log,
  notification_content: NAMES.content,
  notification_retry_log: NAMES.records,
});

/** Items that differ by their log_id alone. */
export function alike(item: object, bytes: number): Pick<VolumeTable, 'item' | 'bytes'> {
  const stored = toItem(item);
  return { bytes: () => bytes, item: (row): Item => ({ ...stored, log_id: { S: idOf(row) } }) };
}

const rowLike = (more: object) => ({ ...TENANT, ...historyKeys({ log_id: idOf(0), ...TENANT }, CREATED), ...more });

/** Read units of the records of a sample, and of the dead. */
const SAMPLED = 1_000;

/** What an item takes at most, and the memory of all. @param once read units beside, however many there are */
export function within(
  volume: Volume,
  most: Readonly<Record<'read_units' | 'ms' | 'cpu_us' | 'heap_mb', number>>,
  once = 0,
): Found['budgets'] {
  const { count, used, seconds, cpu_seconds, heap_mb } = volume;
  return [
    ['read units each', (used.read - once) / count, most.read_units],
    // Some looks are a minute after another, and a second goes into compiling.
    ['milliseconds each, beside 80 seconds', (seconds * 1_000 - 80_000) / count, most.ms],
    ['microseconds of CPU each, beside a second', (cpu_seconds * 1e6 - 1e6) / count, most.cpu_us],
    ['megabytes in memory', heap_mb, most.heap_mb],
  ];
}

/** The verification of a stage, by its function, which goes on in another invocation every 15 minutes. */
async function verifyEverything(volume: Volume): Promise<Found> {
  const { time, count } = volume;
  const done = { send_status: 'SUCCESS', send_attempts: 1, last_attempt: 0, retry_count: 0 };
  const one = { size: () => 1, rowAt: () => 0, placeOf: () => 0 };
  const store = volume.store(
    {
      [NAMES.log]: { ...evenly(count, SEGMENTS), ...alike(rowLike(done), BYTES.row) },
      [NAMES.content]: { ...evenly(count, SEGMENTS), ...alike({ tenant_id: TENANT.tenant_id }, BYTES.content) },
      [NAMES.records]: { ...one, ...alike({ retry_attempt: 0, retry_status: 'SUCCESS' }, BYTES.record) },
    },
    { item_ms: ITEM_MS },
    3,
  );
  const kept = createMemoryVerification((bytes) => store.write(Math.ceil(bytes / 1_024)));
  const deployment = { tables: TABLES, lane_queues: {}, dead_letter_queues: {} };
  const shards = async () => BASE_SHARDS;
  let goesOn = true;
  let invocations = 0;
  const handler = createVerify(
    {
      store: kept,
      ports: verificationOf({ deployment, dynamodb: store.client, sqs: undefined as never, shards }),
      clock: time.clock,
      pause: time.pause,
      goOn: async () => {
        goesOn = true;
      },
    },
    observed(volume.env({})),
  );
  await time.run(async () => {
    while (goesOn) {
      goesOn = false;
      const end = time.now + 15 * MINUTE;
      const context = { getRemainingTimeInMillis: () => end - time.now, awsRequestId: `run-${++invocations}` };
      await handler(invocations === 1 ? { source: 'aws.events' } : { continued: true }, context);
    }
  });
  const { status, state = '{}' } = (await kept.read()) ?? {};
  const { scanned, contents, violated, lost, phase, records_checked }: Partial<Verification> = JSON.parse(state);
  return {
    shown: { invocations, 'hours per 10 million': (volume.seconds / 3_600 / count) * 1e7 },
    holds: {
      'it is done': status === 'done' && phase === 'done',
      'all rows and contents are read': scanned === count && contents === count,
      'no rule is broken': violated === 0 && lost === 0,
      'records are checked': (records_checked ?? 0) > 0,
    },
    budgets: within(volume, { read_units: 1.35, ms: 2.7, cpu_us: 60, heap_mb: 20 }, SAMPLED),
  };
}

/** Sends the dead notifications of one tenant again, by the console's function, at the most that is allowed. */
async function replayEverything(volume: Volume): Promise<Found> {
  const { time, count } = volume;
  const { clock, pause } = time;
  const at = CREATED.toISOString();
  const dead = { send_status: 'FAILED', failure_reason: 'MAX_RETRIES', updated_at: at, work_at: at };
  const items = alike(rowLike({ ...dead, send_attempts: 6, attempts_left: 0, last_attempt: 5 }), BYTES.row);
  const shards = evenly(count, BASE_SHARDS.work);
  const index: VolumeTable = {
    ...shards,
    size: (partition) => (partition.startsWith('dead#normal#') ? shards.size(partition) : 0),
    bytes: () => BYTES.entry,
    item: (row) => ({ ...items.item(row), work_queue: { S: `dead#normal#${row % BASE_SHARDS.work}` } }),
  };
  const tables = { [NAMES.log]: { ...index, bytes: items.bytes }, [`${NAMES.log}/work_index`]: index };
  // The row, and its entry, which leaves one partition and comes into another.
  const store = volume.store(tables, { item_ms: ITEM_MS, change_units: 3 }, 5);
  const memory = createMemoryOperations();
  const operations: typeof memory = {
    ...memory,
    async change(...asked) {
      await store.write(Math.ceil(JSON.stringify(asked[0]).length / 1_024));
      return memory.change(...asked);
    },
  };
  const due: string[] = [];
  const lanes = { visible: 0, delayed: 0, inFlight: 0, requests: 0 };
  const deps = {
    operations,
    candidates: createOperationRows(store.client, NAMES.log, clock, async () => BASE_SHARDS),
    rows: createOperatorRows(store.client, NAMES.log, clock),
    correct: async () => true,
    send: async (messages: readonly unknown[]) => {
      lanes.requests += Math.ceil(messages.length / 10);
      await pause(10);
      return [];
    },
    newId: () => createHash('sha1').update(String(time.now)).digest('hex'),
    startRun: async (operation_id: string) => void due.push(operation_id),
    goOn: async (operation_id: string) => void due.push(operation_id),
    policy: DEFAULT_RETRY_POLICY,
    clock,
    pause,
  };
  const handler = createOperations(deps, observed(volume.env({})));
  let invocations = 0;
  const work = async () => {
    for (let id = due.shift(); id !== undefined; id = due.shift()) {
      invocations += 1;
      const end = time.now + 10 * MINUTE;
      const Records = [{ body: JSON.stringify({ operation_id: id }) }];
      await handler({ Records } as Parameters<typeof handler>[0], { getRemainingTimeInMillis: () => end - time.now });
    }
  };
  const asked = { kind: 'redrive', filter: { tenant_id: TENANT.tenant_id }, asked: {}, rate: 500 } as const;
  const operation_id = await time.run(async () => {
    const created = await createOperation({ ...asked, include_stopped: false, created_by: 'mori' }, deps);
    await work();
    await operate(created.operation_id, 'start', deps);
    await work();
    return created.operation_id;
  });
  const { preview, progress, status } = (await memory.read(operation_id)) ?? {};
  return {
    shown: { invocations, 'hours per 10 million': (volume.seconds / 3_600 / count) * 1e7 },
    holds: {
      'it is done': status === 'done',
      'the preview shows all': preview?.taken === count,
      'all are taken': progress?.taken === count,
    },
    queues: [lanes],
    budgets: within(volume, { read_units: 3.4, ms: 2.6, cpu_us: 300, heap_mb: 20 }),
  };
}

export const EVERYTHING: readonly NamedVolume[] = [
  {
    name: 'verify-at-size',
    describes: 'all of a stage is verified, at 500 read units a second',
    notifications: 10_000_000,
    volume: verifyEverything,
  },
  {
    name: 'replay-at-size',
    describes: 'an operator previews and redrives the dead of one tenant, at 500 a second',
    notifications: 1_000_000,
    volume: replayEverything,
  },
];
