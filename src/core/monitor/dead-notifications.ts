import type { RowStore } from '../delivery/ports.ts';
import { PRIORITIES, type Priority } from '../model/channels.ts';
import { type Clock, isoAfter } from '../model/time.ts';
import { allShards, type DueIndex, type PageCursor } from '../model/work-index.ts';
import { type Deaths, deathNotice, type Notice, stillDead } from './death-notice.ts';

/** Where a partition goes on: behind a page, or from a time on. */
interface Position {
  readonly from: string;
  readonly after?: PageCursor;
}

/** What deaths have been reported: all up to `until`, ISO-8601 UTC, but of the partitions that are behind. */
export interface Reported {
  readonly until: string;
  readonly behind?: Readonly<Record<string, Position>> | undefined;
}

export interface NoticeMark {
  read(): Promise<Reported | undefined>;
  write(reported: Reported): Promise<void>;
}

export interface ReportDeathsDeps {
  readonly index: DueIndex;
  readonly rows: Pick<RowStore, 'read'>;
  readonly mark: NoticeMark;
  readonly publish: (notice: Notice) => Promise<void>;
  /** Name of the stack, for the commands in the notice. */
  readonly stack: string;
  readonly clock: Clock;
}

/**
 * A death is dated at the end of its attempt. Its row is written and indexed later, by a function that runs at most a
 * minute, so the newest deaths are left for the next notice.
 */
const SETTLING_MS = 2 * 60_000;
const BEGINNING = '1970-01-01T00:00:00.000Z';
/**
 * How long a run counts: an urgent death is told within ten minutes, of which settling takes two, and the schedule five.
 * A page per partition is read in any case, so that a flood of one priority stops no other.
 */
const COUNTING_MS = 100_000;
const PAGE_SIZE = 2_000;
/** Rows read per run for their causes, which the index does not have. */
const MOST_ROWS = 1_000;
/** Ids kept per group at least, if it has so many. */
const SAMPLE = 250;

/**
 * Reports to operators what was given up since the last notice, in one message grouped by tenant and cause ("超過時の対応"
 * of adr-006-spool-retention.md), however much it is: counted in the dead part of the work index, whose `work_at` is the
 * time of death, urgent ones first. What a run has no time for is left to the next. The mark is written after the
 * message: a crash in between repeats a notice and skips none.
 * @returns the number of reported deaths
 */
export async function reportDeaths(deps: ReportDeathsDeps, now: Date): Promise<number> {
  const { index, mark, publish, stack, clock } = deps;
  const last = await mark.read();
  const until = isoAfter(now, -SETTLING_MS);
  const from = last?.until ?? BEGINNING;
  if (last !== undefined && from >= until) return 0;
  const census = new Census();
  const behind: Record<string, Position> = {};
  const failed: unknown[] = [];
  const shards = await index.shards();
  const isOver = () => clock().getTime() - now.getTime() >= COUNTING_MS;
  for (const priority of PRIORITIES) {
    const walk = async (partition: string) => {
      const position = last?.behind?.[partition] ?? { from };
      const reached = await countDeaths({ index, partition, until, isOver }, position, (item) => census.add(item));
      if (reached.next !== undefined) behind[partition] = reached.next;
      // What fails stays where it is, and keeps no other from being told.
      if (reached.error !== undefined) failed.push(reached.error);
    };
    await Promise.all(allShards('dead', priority, shards).map(walk));
  }
  const died = await census.withRows(deps.rows);
  const deaths = died.reduce((sum, some) => sum + stillDead(some), 0);
  const oldest = Object.values(last?.behind ?? {}).reduce((least, one) => (one.from < least ? one.from : least), from);
  const more = Object.keys(behind).length > 0;
  const period = { from: last === undefined ? undefined : oldest, until, more };
  if (deaths > 0) await publish(deathNotice(died, { stack, ...period }));
  await mark.write({ until, ...(more && { behind }) });
  if (failed.length > 0)
    throw new AggregateError(failed, `Deaths could not be counted: ${failed.map(String).join('; ')}`);
  return deaths;
}

interface Walk {
  readonly index: DueIndex;
  readonly partition: string;
  /** Excluded. */
  readonly until: string;
  readonly isOver: () => boolean;
}

type Death = Awaited<ReturnType<DueIndex['page']>>['items'][number];

/**
 * Counts the deaths of a partition page by page, while there is time. Whoever may write to the table can put entries into
 * the index that are no deaths; nobody sets them aside here.
 * @returns where to go on; nothing when all of it is counted
 */
async function countDeaths(
  { index, partition, until, isOver }: Walk,
  position: Position,
  count: (death: Death) => void,
): Promise<{ readonly next?: Position; readonly error?: unknown }> {
  let next = position;
  do {
    try {
      const page = await index.page(partition, { ...next, until, limit: PAGE_SIZE });
      for (const item of page.items) if (item.work_at < until) count(item);
      if (page.next === undefined) return {};
      next = { from: position.from, after: page.next };
    } catch (error) {
      return { next, error };
    }
  } while (!isOver());
  return { next };
}

/** Deaths by priority, tenant and channel, each with a sample of its ids that is spread evenly over the time. */
class Census {
  readonly #groups = new Map<string, Group>();

  add({ priority, tenant_id, channel, log_id }: Death): void {
    const id = `${priority} ${channel} ${tenant_id}`;
    // Each group needs a row for its cause.
    const isOne = this.#groups.has(id) || this.#groups.size < MOST_ROWS;
    const key = isOne ? id : priority;
    const group = this.#groups.get(key) ?? new Group(priority, isOne ? tenant_id : 'other tenants');
    this.#groups.set(key, group);
    group.add(log_id);
  }

  /** The rows of few are all read; many share the rest. */
  async withRows(rows: Pick<RowStore, 'read'>): Promise<Deaths[]> {
    const groups = [...this.#groups.values()].sort((a, b) => a.count - b.count);
    let left = MOST_ROWS;
    const asked = groups.map((group, i) => {
      const ids = group.sample(Math.max(1, Math.floor(left / (groups.length - i))));
      left -= ids.length;
      return { group, ids };
    });
    return Promise.all(
      asked.map(async ({ group: { priority, tenant_id, count }, ids }) => {
        const read = await Promise.all(ids.map((log_id) => rows.read(log_id)));
        const found = read
          .filter((row) => row !== undefined)
          .sort((a, b) => ((a.work_at ?? '') < (b.work_at ?? '') ? -1 : 1));
        return { priority, tenant_id, count, sampled: ids.length, rows: found };
      }),
    );
  }
}

class Group {
  readonly priority: Priority;
  readonly tenant_id: string;
  count = 0;
  /** Every `#each`th. */
  #ids: string[] = [];
  #each = 1;

  constructor(priority: Priority, tenant_id: string) {
    this.priority = priority;
    this.tenant_id = tenant_id;
  }

  add(log_id: string): void {
    if (this.count % this.#each === 0) this.#ids.push(log_id);
    this.count += 1;
    if (this.#ids.length < 2 * SAMPLE) return;
    this.#ids = this.#ids.filter((_, i) => i % 2 === 0);
    this.#each *= 2;
  }

  sample(most: number): string[] {
    const length = Math.min(most, this.#ids.length);
    return Array.from({ length }, (_, i) => this.#ids[Math.floor((i * this.#ids.length) / length)] ?? []).flat();
  }
}
