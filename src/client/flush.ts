import { isFull } from './durable-files.ts';
import { type HandOverOptions, handOver, type Line, newLine } from './hand-over.ts';
import type { Item } from './item.ts';
import type { Later, Verdict } from './retry-rules.ts';
import type { Spool } from './spool.ts';
import {
  CorruptFileError,
  type GivenUpBecause,
  type SpoolFile,
  type SpoolHeader,
  UnreadableFileError,
} from './spool-file.ts';

/** What operators are told, once: something is in data/failed now and waits for them. */
export interface GivenUp {
  /** In the spool; `corrupt` and `refused` get a name of their own in data/failed, which begins like this one. */
  readonly file: string;
  readonly because: GivenUpBecause | 'corrupt';
  /** How many; undefined when the file does not tell. */
  readonly notifications?: number;
  readonly firstAttempt?: string;
  /** The last error, or what is wrong with the file. */
  readonly reason: string;
}

export interface FlushReport {
  /** Notifications. */
  readonly accepted: number;
  readonly refused: number;
  /** Notifications that are still in the spool, as far as its files tell. */
  readonly left: number;
  readonly givenUp: readonly GivenUp[];
  /** Files (or a folder, by its path) that were left as they are, and why: another key, a newer version, a failing disk. */
  readonly skipped: readonly { readonly file: string; readonly because: string }[];
  /** It was told to stop before it was through. */
  readonly interrupted: boolean;
}

/** Notifications. */
export interface FlushProgress {
  readonly done: number;
  readonly total: number;
}

export interface FlushOptions {
  readonly onProgress?: (progress: FlushProgress) => void;
  readonly signal?: AbortSignal;
  /** Only these files. */
  readonly files?: readonly string[];
}

export interface FlushDeps extends HandOverOptions {
  readonly spool: Spool;
  /** adr-006-spool-retention.md. */
  readonly maxRetries: number;
  readonly retentionMs: number;
  readonly tell: (given: GivenUp) => void | Promise<void>;
}

/** Goes through the spool, the oldest first. The caller holds the lock. One file never stops the others. */
export async function flushSpool(deps: FlushDeps, { onProgress, signal, files }: FlushOptions): Promise<FlushReport> {
  const { spool } = deps;
  const faults = await spool.recover();
  const listed = (await spool.list('spool')).filter(({ file }) => files === undefined || files.includes(file));
  const total = listed.reduce((sum, { header }) => sum + (header?.notifications ?? 0), 0);
  const tally = {
    accepted: 0,
    refused: 0,
    left: 0,
    givenUp: [] as GivenUp[],
    skipped: faults.map(({ file, error }) => ({ file, because: reasonOf(error) })),
  };
  const line: Line = { ...newLine(), split: { failed: 0 } };
  let done = 0;
  for (const { file, header } of listed) {
    const count = header?.notifications ?? 0;
    if (signal?.aborted) tally.left += count;
    else {
      try {
        await flushFile(file, { ...deps, line, signal, tally });
      } catch (error) {
        tally.skipped.push({ file, because: reasonOf(error) });
        tally.left += count;
      }
    }
    done += count;
    onProgress?.({ done, total });
  }
  return { ...tally, interrupted: signal?.aborted === true };
}

interface Work extends FlushDeps {
  readonly line: Line;
  readonly signal: AbortSignal | undefined;
  readonly tally: { accepted: number; refused: number; left: number; givenUp: GivenUp[] };
}

async function flushFile(file: string, work: Work): Promise<void> {
  const { spool, clock } = work;
  const opened = await open(file, work);
  if (opened === undefined) return;
  const { content, items } = opened;
  const late = overdue(content.header, work);
  if (late !== undefined) return giveUp(file, content, late, work);
  if (items instanceof Error) throw items;

  const verdicts = await handOver(items, work, work.line, work.signal);
  if (verdicts.every((verdict) => verdict.state === 'later' && verdict.unasked)) {
    work.tally.left += items.length;
    return;
  }
  const of = (state: Verdict['state']) => items.filter((_, i) => verdicts[i]?.state === state);
  const refused = items.flatMap((item, i) => refusal(item, verdicts[i]));
  const left = of('later');
  if (refused.length > 0) {
    await tell(
      work,
      { file, because: 'refused', notifications: refused.length, reason: titles(refused) },
      content.header,
    );
    await spool.addRefused(file, content.header, refused);
  }
  if (left.length === 0) await spool.remove('spool', file);
  else {
    const reason = verdicts.find((verdict): verdict is Later => verdict.state === 'later')?.reason ?? 'unknown';
    // Being told to stop is no failure of the API.
    const failed = work.signal?.aborted ? 0 : 1;
    const { header } = content;
    const next: SpoolHeader = {
      ...header,
      retryCount: header.retryCount + failed,
      lastError: { at: clock().toISOString(), reason },
    };
    const over = overdue(next, work);
    if (over !== undefined) await giveUp(file, spool.content(next, left), over, work);
    else {
      await spool.rewrite(file, next, left);
      work.tally.left += left.length;
    }
  }
  work.tally.accepted += of('accepted').length;
  work.tally.refused += refused.length;
}

/** The file and its items, or why these cannot be had; undefined when it was set aside. */
async function open(
  file: string,
  work: Work,
): Promise<{ content: SpoolFile; items: Item[] | UnreadableFileError } | undefined> {
  const { spool } = work;
  try {
    const content = await spool.read('spool', file);
    try {
      return { content, items: spool.open(content) };
    } catch (error) {
      // Whatever its items are, its first line tells when it is time to give up.
      if (error instanceof UnreadableFileError) return { content, items: error };
      throw error;
    }
  } catch (error) {
    if (!(error instanceof CorruptFileError)) throw error;
    await tell(work, { file, because: 'corrupt', reason: error.message });
    await spool.setAside(file);
    return undefined;
  }
}

/** adr-006-spool-retention.md, 原則 4. A clock that went back makes a file younger, never older. */
function overdue({ firstAttempt, retryCount }: SpoolHeader, { clock, retentionMs, maxRetries }: Work) {
  if (retryCount >= maxRetries) return 'too-many-retries';
  return clock().getTime() - Date.parse(firstAttempt) > retentionMs ? 'too-old' : undefined;
}

async function giveUp(file: string, content: SpoolFile, because: GivenUpBecause, work: Work): Promise<void> {
  const { notifications, lastError } = content.header;
  await tell(work, { file, because, notifications, reason: lastError.reason }, content.header);
  await work.spool.giveUp(file, content, because);
}

/** Told before it is moved: a death in between tells it twice, and never not at all. */
async function tell(work: Work, given: GivenUp, header?: SpoolHeader): Promise<void> {
  const told = { ...given, ...(header && { firstAttempt: header.firstAttempt }) };
  await work.tell(told);
  work.tally.givenUp.push(told);
}

function refusal(item: Item, verdict: Verdict | undefined): Item[] {
  return verdict?.state === 'refused' ? [{ ...item, problem: verdict.problem }] : [];
}

function titles(refused: readonly Item[]): string {
  return [...new Set(refused.map(({ problem }) => problem?.type.split(':').at(-1) ?? 'refused'))].join(', ');
}

function reasonOf(error: unknown): string {
  if (error instanceof UnreadableFileError) return error.message;
  const { code, message, name } = error as NodeJS.ErrnoException;
  return isFull(error) ? 'the disk is full' : `${code ?? name}: ${message}`;
}
