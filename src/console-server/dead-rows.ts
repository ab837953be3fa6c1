import type { Channel } from '../core/model/channels.ts';
import type { NotificationRow } from '../core/model/notification.ts';
import { workPartitions } from '../core/model/work/work-partitions.ts';
import type { DueItem } from '../core/model/work-index.ts';
import type { ConsoleDeps } from './deps.ts';

/** Sorts after every time. */
const END_OF_TIME = '9999-12-31T23:59:59.999Z';

export interface DeadRows {
  readonly rows: readonly NotificationRow[];
  /** Dead notifications in the index that match; more than rows when not all were read. */
  readonly total: number;
  readonly complete: boolean;
}

export interface DeadRequest {
  readonly channel?: Channel | undefined;
  readonly tenant?: string | undefined;
  /** Most rows that are read: each costs half a read unit and about 20 µs. */
  readonly most: number;
}

/** Entries per page of the index: the partitions, 32 or more, are read side by side. */
const PAGE = 500;
/** Pages per partition, so that a flood of dead notifications does not make a page of the console read on and on. */
const MOST_PAGES = 40;

/** The dead notifications by the index, and the rows of as many as asked for. */
export async function readDead(request: DeadRequest, { index, rows }: Pick<ConsoleDeps, 'index' | 'rows'>) {
  const partitions = await Promise.all(
    workPartitions('dead', await index.shards()).map(async (partition) => {
      const items: DueItem[] = [];
      let after: Awaited<ReturnType<typeof index.page>>['next'];
      let pages = 0;
      do {
        const page = await index.page(partition, { until: END_OF_TIME, limit: PAGE, ...(after && { after }) });
        items.push(...page.items.filter((item) => isWanted(item, request)));
        after = page.next;
        pages += 1;
      } while (after !== undefined && pages < MOST_PAGES);
      return { items, ended: after === undefined };
    }),
  );
  const found = partitions.flatMap(({ items }) => items).sort((a, b) => (a.work_at < b.work_at ? 1 : -1));
  const read = await Promise.all(found.slice(0, request.most).map(({ log_id }) => rows.read(log_id)));
  const dead = read.filter((row) => row?.work_queue?.startsWith('dead#')) as NotificationRow[];
  const complete = found.length <= request.most && partitions.every(({ ended }) => ended);
  return { rows: dead, total: found.length, complete } satisfies DeadRows;
}

function isWanted({ channel, tenant_id }: DueItem, wanted: DeadRequest): boolean {
  return (
    (wanted.channel === undefined || wanted.channel === channel) &&
    (wanted.tenant === undefined || wanted.tenant === tenant_id)
  );
}
