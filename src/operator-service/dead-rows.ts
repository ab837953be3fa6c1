import type { Channel } from '../core/model/channels.ts';
import type { NotificationRow } from '../core/model/notification.ts';
import { type PageCursor, workPartitions } from '../core/model/work-index.ts';
import type { WorkEntry } from '../core/operator/views/work-entries.ts';
import type { ConsoleDeps } from './deps.ts';

export interface DeadRows {
  /** The newest ones. */
  readonly rows: readonly NotificationRow[];
  /** Dead notifications in the index that match, as far as it was read. */
  readonly total: number;
  /** Whether rows and total are all there are. */
  readonly complete: boolean;
}

export interface DeadRequest {
  readonly channel?: Channel | undefined;
  readonly tenant?: string | undefined;
  /** Most rows that are read: each costs half a read unit and about 50 µs. */
  readonly most: number;
}

/** Partitions hold notifications in even numbers; each may hold so many times its share of the newest. */
const SLACK = 2;
const LEAST_PAGE = 25;
/** Pages per partition, if few of its entries match: a flood of others does not make a request read on and on. */
const MOST_PAGES = 5;

/** The newest dead notifications by the index, and their rows. Each partition is read from its newest end. */
export async function readDead(
  request: DeadRequest,
  { entries: index, rows }: Pick<ConsoleDeps, 'entries' | 'rows'>,
): Promise<DeadRows> {
  const partitions = workPartitions('dead', await index.shards());
  const share = Math.max(LEAST_PAGE, Math.ceil((SLACK * request.most) / partitions.length));
  const read = await Promise.all(
    partitions.map(async (partition) => {
      const found: WorkEntry[] = [];
      let after: PageCursor | undefined;
      let pages = 0;
      do {
        const page = await index.page(partition, { limit: share, newest: true, ...(after && { after }) });
        found.push(...page.entries.filter((entry) => isWanted(entry, request)));
        after = page.next;
        pages += 1;
      } while (after !== undefined && found.length < share && pages < MOST_PAGES);
      return { found, ended: after === undefined };
    }),
  );
  const found = read.flatMap((one) => one.found).sort((a, b) => (a.work_at < b.work_at ? 1 : -1));
  const newest = await Promise.all(found.slice(0, request.most).map(({ log_id }) => rows.read(log_id)));
  const dead = newest.flatMap((row) => (row !== undefined && isDead(row) ? [row] : []));
  const complete = found.length <= request.most && read.every(({ ended }) => ended);
  return { rows: dead, total: found.length, complete };
}

function isDead({ work_queue }: NotificationRow): boolean {
  return typeof work_queue === 'string' && work_queue.startsWith('dead#');
}

function isWanted({ channel, tenant_id }: WorkEntry, wanted: DeadRequest): boolean {
  return (
    (wanted.channel === undefined || wanted.channel === channel) &&
    (wanted.tenant === undefined || wanted.tenant === tenant_id)
  );
}
