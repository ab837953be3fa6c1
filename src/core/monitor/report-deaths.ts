import type { RowStore } from '../delivery/ports.ts';
import { isoAfter } from '../model/time.ts';
import type { DueIndex } from '../model/work-index.ts';
import { causesOf, deathNotice, type Notice } from './death-notice.ts';
import { deathsBetween } from './deaths.ts';

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
