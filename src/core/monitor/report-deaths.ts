import type { RowStore } from '../delivery/ports.ts';
import { isoAfter } from '../model/time.ts';
import type { DueIndex } from '../model/work-index.ts';
import { causesOf, deathNotice, type Notice } from './death-notice.ts';
import { deathsBetween } from './deaths.ts';

/** Until when deaths have been told, ISO-8601 UTC. */
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
 * A death's time is the attempt's end; its row is written later, by a function that lives a minute at most, and
 * indexed.
 */
const SETTLING_MS = 2 * 60_000;
const BEGINNING = '1970-01-01T00:00:00.000Z';

/**
 * Tells operators what was given up since the last notice, in one message grouped by cause ("超過時の対応" of
 * adr-006-spool-retention.md). The mark moves on after the message: a crash in between repeats a notice and skips none.
 * @returns how many it told of
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
