import { type ApiState, type HandOverOptions, handOver } from '../handover/hand-over.ts';
import type { Item } from '../handover/item.ts';
import { type HandoverOutcome, type Postponed, problemName } from '../handover/retry-rules.ts';
import { isGone } from './durable-files.ts';
import type { Spool } from './spool.ts';
import {
  CorruptFileError,
  type GivenUpBecause,
  type SpoolFile,
  type SpoolHeader,
  UnreadableFileError,
} from './spool-file.ts';

export interface FileFlushDeps extends HandOverOptions {
  readonly spool: Spool;
  /** adr-006-spool-retention.md. */
  readonly maxRetries: number;
  readonly retentionMs: number;
}

export interface FileFlush extends FileFlushDeps {
  readonly api: ApiState;
  readonly signal: AbortSignal | undefined;
  readonly tally: { accepted: number; refused: number; left: number; readonly leftBecause: Record<string, number> };
  /** Names of the files that were moved to data/failed. */
  readonly unreported: string[];
  /** Runs what may fail for a file, and keeps the failure for the report. */
  readonly attempt: (file: string, run: () => Promise<void>) => Promise<void>;
}

/** A file, and the number of notifications in it according to its first line. */
export interface Waiting {
  readonly file: string;
  readonly notifications: number;
}

interface Opened extends Waiting {
  readonly content: SpoolFile;
  readonly items: readonly Item[];
}

/**
 * Hands over the notifications of some files together, in their order, and rewrites, removes or gives up each file. A
 * hundred thousand files of one notification would need as many requests otherwise, and outlast an hourly cron.
 */
export async function flushFiles(files: readonly Waiting[], flush: FileFlush): Promise<void> {
  const opened: Opened[] = [];
  for (const waiting of files) {
    await flush.attempt(waiting.file, async () => {
      const found = await openToSend(waiting, flush);
      if (found !== undefined) opened.push(found);
    });
  }
  const items = opened.flatMap((one) => one.items);
  const outcomes = items.length === 0 ? [] : await handOver(items, flush, flush.api, flush.signal);
  for (const outcome of outcomes) {
    if (outcome.state !== 'postponed') continue;
    flush.tally.leftBecause[outcome.reason] = (flush.tally.leftBecause[outcome.reason] ?? 0) + 1;
  }
  const done: string[] = [];
  let start = 0;
  for (const one of opened) {
    const own = outcomes.slice(start, start + one.items.length);
    start += one.items.length;
    await flush.attempt(one.file, async () => {
      if (own.every(({ state }) => state === 'accepted')) done.push(one.file);
      else await settle(one, own, flush);
    });
  }
  // Together, because each removal by itself waits for the disk.
  if (done.length > 0) {
    await flush.attempt(done.length === 1 ? String(done[0]) : flush.spool.folders.spool, async () => {
      await flush.spool.remove('spool', ...done);
      const accepted = opened.filter(({ file }) => done.includes(file)).reduce((sum, one) => sum + one.items.length, 0);
      flush.tally.accepted += accepted;
      flush.tally.left -= accepted;
    });
  }
}

/** A file that is to be sent now; undefined if it was given up or set aside. */
async function openToSend(waiting: Waiting, flush: FileFlush): Promise<Opened | undefined> {
  const opened = await open(waiting, flush);
  if (opened === undefined) return undefined;
  const { content, items } = opened;
  const reason = giveUpReason(content.header, flush);
  if (reason !== undefined) {
    await giveUp(waiting.file, content, reason, flush);
    return undefined;
  }
  if (items instanceof Error) throw items;
  return { ...waiting, content, items };
}

/** Writes down what became of a file of which not everything was accepted. */
async function settle(
  { file, content, items }: Opened,
  outcomes: readonly HandoverOutcome[],
  flush: FileFlush,
): Promise<void> {
  const { spool, tally } = flush;
  if (outcomes.every((outcome) => outcome.state === 'postponed' && outcome.notAttempted)) return;
  const of = (state: HandoverOutcome['state']) => items.filter((_, i) => outcomes[i]?.state === state);
  const accepted = of('accepted').length;
  const refused = items.flatMap((item, i) => refusal(item, outcomes[i]));
  const left = of('postponed');
  const postponed = outcomes.find((outcome): outcome is Postponed => outcome.state === 'postponed');
  const next = headerAfter(content.header, postponed?.reason ?? titles(refused), flush);
  // Accepted items leave the spool first, so that they are not sent again whatever fails after this.
  await putBack(file, next, [...refused, ...left], flush);
  tally.accepted += accepted;
  tally.left -= accepted;
  if (refused.length > 0) {
    flush.unreported.push(await spool.addRefused(file, next, refused, titles(refused)));
    await putBack(file, next, left, flush);
    tally.refused += refused.length;
    tally.left -= refused.length;
  }
  const nextReason = giveUpReason(next, flush);
  if (left.length > 0 && nextReason !== undefined) {
    await giveUp(file, spool.content(next, left), nextReason, flush);
  }
}

/** The first line after a try that failed: each one counts (adr-006-spool-retention.md, 原則 2), but not an aborted one. */
function headerAfter(header: SpoolHeader, reason: string, { clock, signal }: FileFlush): SpoolHeader {
  const failures = signal?.aborted ? 0 : 1;
  return {
    ...header,
    retryCount: header.retryCount + failures,
    lastError: { at: clock().toISOString(), reason },
  };
}

async function putBack(file: string, header: SpoolHeader, rest: readonly Item[], { spool }: FileFlush): Promise<void> {
  if (rest.length === 0) await spool.remove('spool', file);
  else await spool.rewrite(file, header, rest);
}

/**
 * The file and its items, or why the items are not readable; undefined if the file is corrupt and was set aside, or gone:
 * another flush may run beside this one, where there was no room for a lock.
 */
async function open(
  { file, notifications }: Waiting,
  flush: FileFlush,
): Promise<{ content: SpoolFile; items: Item[] | UnreadableFileError } | undefined> {
  const { spool } = flush;
  try {
    const content = await spool.read('spool', file);
    try {
      return { content, items: spool.open(content) };
    } catch (error) {
      // The first line shows when to give the file up, even if the items are not readable.
      if (error instanceof UnreadableFileError) return { content, items: error };
      throw error;
    }
  } catch (error) {
    const isCorrupt = error instanceof CorruptFileError;
    if (!isCorrupt && !isGone(error)) throw error;
    if (isCorrupt) flush.unreported.push(await spool.setAside(file));
    flush.tally.left -= notifications;
    return undefined;
  }
}

/** adr-006-spool-retention.md, 原則 4. A clock that was set back makes a file younger, never older. */
function giveUpReason(
  { firstAttempt, retryCount, givenUp }: SpoolHeader,
  { clock, retentionMs, maxRetries }: FileFlush,
) {
  // The file was given up, but the process crashed or could not move the file.
  if (givenUp !== undefined) return givenUp.because;
  if (retryCount >= maxRetries) return 'too-many-retries';
  return clock().getTime() - Date.parse(firstAttempt) > retentionMs ? 'too-old' : undefined;
}

async function giveUp(file: string, content: SpoolFile, because: GivenUpBecause, flush: FileFlush): Promise<void> {
  flush.unreported.push(await flush.spool.giveUp(file, content, because));
  flush.tally.left -= content.header.notifications;
}

function refusal(item: Item, outcome: HandoverOutcome | undefined): Item[] {
  return outcome?.state === 'refused' ? [{ ...item, problem: outcome.problem }] : [];
}

/** The names of the API's problems, or the status. */
function titles(refused: readonly Item[]): string {
  const title = ({ problem }: Item) => problemName(problem) ?? `status ${problem?.status}`;
  return [...new Set(refused.map(title))].join(', ');
}
