import { FUNCTION_MEMORY_MB } from '../../../lib/config/function-memory.ts';
import { LANE_SETTINGS } from '../../../lib/config/lane-config.ts';
import { BASE_SHARDS, MOST_SHARDS } from '../../../src/core/model/index-shards.ts';
import { markdownTable } from '../report.ts';
import { priceAtRest, STAGES_AT_REST, totalOf } from './price-at-rest.ts';
import { UNIT_PRICES } from './unit-prices.ts';

/** What a team expects, all of it webhooks of priority `normal` or `info`, which share one lane. */
export interface Load {
  readonly what: string;
  /** Notifications a month that are taken in and retried once. */
  readonly per_month: number;
  /** Of these, due in one hour. */
  readonly peak_hour: number;
}

export const LOADS: readonly Load[] = [
  { what: 'a small team', per_month: 100_000, peak_hour: 10_000 },
  { what: 'a product', per_month: 1_000_000, peak_hour: 100_000 },
  { what: '10⁶ due in an hour', per_month: 10_000_000, peak_hour: 1_000_000 },
  { what: 'a platform', per_month: 100_000_000, peak_hour: 5_000_000 },
  { what: 'a large platform', per_month: 1_000_000_000, peak_hour: 30_000_000 },
];

/** Seconds that receivers take to answer. */
const ANSWER_SECONDS = 0.3;
/** How long outcomes of a batch wait for one another, at most. */
const GATHER_SECONDS = 0.1;
/** CPU per webhook, with answers after 20 to 300 ms (docs/benchmarks.md, upper bound). */
export const CPU_SECONDS = 0.004;
/** Rows that the dispatcher sends per second at 256 MB (docs/architecture.md, Budget: CPU per notification). */
const DISPATCHED_PER_SECOND = 2_200;
export const BATCH = LANE_SETTINGS.batchSize.standard.webhook.standard;
/** MB with which Lambda gives a whole core. */
export const CORE_MB = 1_769;
/** Peaks are uneven; nothing runs at its limit. */
const MARGIN = 1.25;
const DEFAULT_STANDARD_CONCURRENCY = LANE_SETTINGS.concurrency.standard.webhook.standard;

/** What one notification costs that is taken in from another writer and delivered by its first retry. */
export const PER_NOTIFICATION = {
  /** The writer's row with its entry in notification_index, 4 to take it in, 4 for the retry. */
  write_units: 2 + 4 + 4,
  read_units: 1,
  sqs_requests: 0.35,
  /** Row and three index entries, content, record. */
  gigabytes: 3e-6,
  log_gigabytes: 0.7e-6,
} as const;

/** Seconds of a batch: the slowest answer, and the CPU at the function's share of a core. */
export function batchSeconds(memory_mb: number): number {
  return ANSWER_SECONDS + GATHER_SECONDS + (BATCH * CPU_SECONDS) / Math.min(1, memory_mb / CORE_MB);
}

/** The settings by which a lane takes the peak within its hour, and what a month costs. */
export function settingsFor({ per_month, peak_hour }: Load) {
  const rate = peak_hour / 3_600;
  const sender_mb = FUNCTION_MEMORY_MB['send-webhook'];
  const seconds = batchSeconds(sender_mb);
  const needed = Math.ceil((rate * MARGIN * seconds) / BATCH);
  const concurrency = Math.max(DEFAULT_STANDARD_CONCURRENCY, roundUp(needed));
  const steps = [FUNCTION_MEMORY_MB.dispatcher, 512, 1_024, CORE_MB];
  const dispatcher_mb = steps.find((mb) => (DISPATCHED_PER_SECOND * mb) / 256 >= rate * MARGIN) ?? CORE_MB;
  const shards = (base: number, writes: number) =>
    Math.min(MOST_SHARDS, Math.max(base, Math.ceil((writes * MARGIN) / 1_000)));
  return {
    concurrency,
    dispatcher_mb,
    // A row enters the index, and leaves it.
    work_shards: shards(BASE_SHARDS.work, rate * 2),
    history_shards: shards(BASE_SHARDS.history, rate),
    /** In which the webhook lane takes the peak. */
    drained_minutes: peak_hour / ((concurrency * BATCH) / seconds) / 60,
    dollars: monthly(per_month, seconds, sender_mb),
    /** A month, for each month that rows are kept. */
    storage_dollars: per_month * PER_NOTIFICATION.gigabytes * UNIT_PRICES.gigabyte_month,
  };
}

const roundUp = (batches: number): number => (batches <= 20 ? batches : Math.ceil(batches / 10) * 10);

function monthly(notifications: number, seconds: number, sender_mb: number): number {
  const { write_units, read_units, sqs_requests, log_gigabytes } = PER_NOTIFICATION;
  const price = UNIT_PRICES;
  const batches = notifications / BATCH;
  const indexer = (notifications * CPU_SECONDS) / (256 / CORE_MB);
  const variable =
    notifications * (write_units * price.write_unit + read_units * price.read_unit) +
    notifications * (sqs_requests * price.sqs_request + log_gigabytes * price.log_gigabyte) +
    batches * 2 * price.lambda_request +
    (batches * seconds * (sender_mb / 1_024) + indexer * (256 / 1_024)) * price.lambda_gigabyte_second;
  return variable + totalOf(priceAtRest(STAGES_AT_REST.everything));
}

const COLUMNS = ['load', 'a month', 'in the peak hour', 'what to set', 'peak taken in', 'dollars a month', 'storage'];

/** The table of docs/scale-settings.md. */
export function settingsTable(): string {
  const rows = LOADS.map((load) => {
    const settings = settingsFor(load);
    const { dollars, drained_minutes, storage_dollars } = settings;
    return [
      load.what,
      whole(load.per_month),
      whole(load.peak_hour),
      changesOf(settings).join(', ') || 'nothing',
      `${Math.ceil(drained_minutes)} min`,
      whole(dollars),
      `${storage_dollars < 10 ? storage_dollars.toFixed(2) : whole(storage_dollars)} per month kept`,
    ];
  });
  return markdownTable(COLUMNS, rows);
}

/** What differs from the defaults, as configuration keys. */
function changesOf({
  concurrency,
  dispatcher_mb,
  work_shards,
  history_shards,
}: ReturnType<typeof settingsFor>): string[] {
  const changed = [
    ['concurrency.webhook.standard', concurrency, DEFAULT_STANDARD_CONCURRENCY],
    ['memoryMb.dispatcher', dispatcher_mb, FUNCTION_MEMORY_MB.dispatcher],
    ['indexShards.work', work_shards, BASE_SHARDS.work],
    ['indexShards.history', history_shards, BASE_SHARDS.history],
  ] as const;
  return changed.flatMap(([key, value, standard]) => (value === standard ? [] : [`\`${key}\` = ${value}`]));
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
