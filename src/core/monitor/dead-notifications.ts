import type { RowStore } from '../delivery/ports.ts';
import { describeFaults } from '../model/column-rules.ts';
import { errorTypeIn, policyOf } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { clip } from '../model/text.ts';
import { isoAfter, isUtcTime } from '../model/time.ts';
import { type DueIndex, isListedDead, type WorkPage, workPartitions } from '../model/work-index.ts';
import { workFaults } from '../model/work-rules.ts';

/** A message to the operators. It has ids and reasons, never an address or a text of a provider. */
export interface Notice {
  /** At most 100 characters of ASCII: the limit of SNS. */
  readonly subject: string;
  readonly text: string;
}

/** Notifications that died of the same cause: a person has to look into them once. */
export interface Cause {
  /** Channel, integration and reason; or the rules that a malformed row breaks. */
  readonly what: string;
  readonly remedy: string;
  readonly command: string;
  readonly log_ids: readonly string[];
}

/** Causes that are described in full, the most frequent first. A person reads no more at once. */
const MAX_CAUSES = 20;
const MAX_EXAMPLES = 3;
const ID_LENGTH = 80;
const FAULT_LENGTH = 400;
const MALFORMED = {
  remedy: 'Another program put it among the dead ones. Its writer has to correct it, or to remove it.',
  command: 'npm run ops -- list --status dead',
};

/**
 * Groups the notifications that are still dead. Those that were redriven or changed since need no operator. Whoever may
 * write to the table may have put a row among the dead ones: it is judged alone, and keeps no other from being reported.
 */
export function causesOf(rows: readonly NotificationRow[]): Cause[] {
  const isDead = (row: NotificationRow) => row.failure_reason !== undefined && isListedDead(row);
  const dead = rows.filter(isDead).map((row) => ({ log_id: row.log_id, ...causeOf(row) }));
  return [...Map.groupBy(dead, ({ what }) => what).values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const { what, remedy, command } = first;
      return [{ what, remedy, command, log_ids: group.map(({ log_id }) => log_id) }];
    })
    .sort((a, b) => b.log_ids.length - a.log_ids.length);
}

function causeOf(row: NotificationRow): Omit<Cause, 'log_ids'> {
  const { channel, integration_config_id, failure_reason = 'UNKNOWN' } = row;
  const faults = workFaults(row);
  if (faults.length > 0) return { ...MALFORMED, what: `malformed row: ${clip(describeFaults(faults), FAULT_LENGTH)}` };
  const error_type = errorTypeIn(row.error_type) ?? failure_reason;
  const last = error_type === failure_reason ? '' : `, at last ${error_type}`;
  return {
    what: `${channel}, integration ${clip(integration_config_id ?? '-', ID_LENGTH)}: ${failure_reason}${last}`,
    remedy: policyOf(failure_reason).remedy,
    command: `npm run ops -- list --status dead --channel ${channel} --error-type ${error_type}`,
  };
}

export function deathNotice(
  causes: readonly Cause[],
  { stack, from, until }: { readonly stack: string; readonly from: string | undefined; readonly until: string },
): Notice {
  const total = countOf(causes);
  const rest = causes.slice(MAX_CAUSES);
  const since = from === undefined ? 'before' : `from ${from} to`;
  const blocks = [
    `${notifications(total)} given up ${since} ${until}, and waiting for an operator.`,
    ...causes.slice(0, MAX_CAUSES).map(describe),
    ...(rest.length > 0
      ? [`${rest.length} more causes, of ${notifications(countOf(rest))}: npm run ops -- list --status dead`]
      : []),
    `One of them with all its attempts: npm run ops -- show LOG_ID`,
    `For the commands: export NOTIFICATION_RETRY_STACK=${stack}`,
    'What to do: docs/runbook.md#dead-letters-redrive',
  ];
  return { subject: clip(`${stack}: ${notifications(total)} given up`, 100), text: `${blocks.join('\n\n')}\n` };
}

function describe({ what, remedy, command, log_ids }: Cause): string {
  const examples = log_ids.slice(0, MAX_EXAMPLES).map((log_id) => clip(log_id, ID_LENGTH));
  return [
    `${log_ids.length} × ${what}`,
    `  ${remedy}`,
    `  ${log_ids.length > examples.length ? 'Such as ' : ''}${examples.join(', ')}`,
    `  ${command}`,
  ].join('\n');
}

const countOf = (causes: readonly Cause[]): number => causes.reduce((sum, { log_ids }) => sum + log_ids.length, 0);

const notifications = (count: number): string => (count === 1 ? '1 notification' : `${count} notifications`);

/** Most deaths per partition that one notice covers. The rest is left for the next notice. */
const PAGE_SIZE = 250;
/** Most pages of a partition that are read until one has a death. */
const MOST_PAGES = 40;

/**
 * The notifications that died in [from, until). It reads one page with deaths per partition of the dead part of the work
 * index, whose `work_at` is the time of death. If a partition has more deaths, the period ends earlier, so that none is
 * skipped.
 * @returns all deaths before `until`, oldest first
 */
async function deathsBetween(index: DueIndex, from: string, until: string) {
  const partitions = workPartitions('dead', await index.shards());
  const pages = await Promise.all(partitions.map((partition) => firstDeaths(index, partition, from, until)));
  const reached = pages
    .filter(({ next }) => next !== undefined)
    .map((page) => lastTime(page) ?? until)
    .reduce((least, time) => (time < least ? time : least), until);
  // Otherwise a page full of deaths of the same millisecond would be read again and again.
  const end = reached > from ? reached : isoAfter(new Date(from), 1);
  const died = pages.flatMap(({ items }) => items).filter(({ work_at }) => work_at < end);
  return { items: died.sort((a, b) => (a.work_at < b.work_at ? -1 : 1)), until: end };
}

/** Whoever may write to the table can put entries into the index that are no deaths, and that nobody sets aside here. */
async function firstDeaths(index: DueIndex, partition: string, from: string, until: string): Promise<WorkPage> {
  const query = { from, until, limit: PAGE_SIZE };
  let page = await index.page(partition, query);
  for (let pages = 1; pages < MOST_PAGES && page.items.length === 0 && page.next !== undefined; pages++) {
    page = await index.page(partition, { ...query, after: page.next });
  }
  return page;
}

/** Until when the page has all deaths; undefined if no time in it can be read. */
function lastTime({ items, malformed = [] }: WorkPage): string | undefined {
  return items.at(-1)?.work_at ?? malformed.findLast(({ work_at }) => isUtcTime(work_at))?.work_at;
}

/** The time until which deaths have been reported, ISO-8601 UTC. */
export interface NoticeMark {
  read(): Promise<string | undefined>;
  write(until: string): Promise<void>;
}

export interface ReportDeathsDeps {
  readonly index: DueIndex;
  readonly rows: Pick<RowStore, 'read'>;
  readonly mark: NoticeMark;
  readonly publish: (notice: Notice) => Promise<void>;
  /** Name of the stack, for the commands in the notice. */
  readonly stack: string;
}

/**
 * A death is dated at the end of its attempt. Its row is written and indexed later, by a function that runs at most a
 * minute, so the newest deaths are left for the next notice.
 */
const SETTLING_MS = 2 * 60_000;
const BEGINNING = '1970-01-01T00:00:00.000Z';

/**
 * Reports to operators what was given up since the last notice, in one message grouped by cause ("超過時の対応" of
 * adr-006-spool-retention.md). The mark is written after the message: a crash in between repeats a notice and skips
 * none.
 * @returns the number of reported deaths
 */
export async function reportDeaths(
  { index, rows, mark, publish, stack }: ReportDeathsDeps,
  now: Date,
): Promise<number> {
  const from = await mark.read();
  const end = isoAfter(now, -SETTLING_MS);
  if (from !== undefined && from >= end) return 0;
  const { items, until } = await deathsBetween(index, from ?? BEGINNING, end);
  const found = await Promise.all(items.map(({ log_id }) => rows.read(log_id)));
  const causes = causesOf(found.filter((row) => row !== undefined));
  if (causes.length > 0) await publish(deathNotice(causes, { stack, from, until }));
  await mark.write(until);
  return causes.reduce((sum, { log_ids }) => sum + log_ids.length, 0);
}
