import { type HandOverOptions, handOver, type Line, newLine } from '../handover/hand-over.ts';
import type { Item } from '../handover/item.ts';
import type { HandoverOutcome, Later } from '../handover/retry-rules.ts';
import { whyFailed } from './durable-files.ts';
import { type GivenUp, givenUpOf } from './given-up.ts';
import type { Spool } from './spool.ts';
import {
  CorruptFileError,
  type GivenUpBecause,
  type SpoolFile,
  type SpoolHeader,
  UnreadableFileError,
} from './spool-file.ts';

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
  const { unreported, faults } = await spool.recover();
  const listed = (await spool.list('spool')).filter(({ file }) => files === undefined || files.includes(file));
  const total = listed.reduce((sum, { header }) => sum + (header?.notifications ?? 0), 0);
  const givenUp: GivenUp[] = [];
  const skipped = faults.map(({ file, error }) => ({ file, because: becauseOf(error) }));
  const tally = { accepted: 0, refused: 0, left: total };
  const attempt = async (file: string, run: () => Promise<void>) => {
    await run().catch((error) => skipped.push({ file, because: becauseOf(error) }));
  };
  const reportUnreported = async () => {
    for (const name of unreported.splice(0)) await attempt(name, () => tell(name, deps, givenUp));
  };
  // Whoever moved these died, or could tell nobody.
  await reportUnreported();
  const line: Line = { ...newLine(), split: { failed: 0 } };
  let done = 0;
  for (const { file, header } of listed) {
    const notifications = header?.notifications ?? 0;
    if (!signal?.aborted) {
      await attempt(file, () => flushFile(file, { ...deps, line, signal, tally, unreported, notifications }));
      await reportUnreported();
    }
    done += notifications;
    onProgress?.({ done, total });
  }
  return { ...tally, givenUp, skipped, interrupted: signal?.aborted === true };
}

interface Work extends FlushDeps {
  readonly line: Line;
  readonly signal: AbortSignal | undefined;
  readonly tally: { accepted: number; refused: number; left: number };
  /** What was moved to data/failed, by its name there. */
  readonly unreported: string[];
  /** In the file, by its first line. */
  readonly notifications: number;
}

async function flushFile(file: string, work: Work): Promise<void> {
  const { spool, tally } = work;
  const opened = await open(file, work);
  if (opened === undefined) return;
  const { content, items } = opened;
  const late = overdue(content.header, work);
  if (late !== undefined) return giveUp(file, content, late, work);
  if (items instanceof Error) throw items;

  const verdicts = await handOver(items, work, work.line, work.signal);
  if (verdicts.every((verdict) => verdict.state === 'later' && verdict.unasked)) return;
  const of = (state: HandoverOutcome['state']) => items.filter((_, i) => verdicts[i]?.state === state);
  const accepted = of('accepted').length;
  const refused = items.flatMap((item, i) => refusal(item, verdicts[i]));
  const left = of('later');
  const later = verdicts.find((verdict): verdict is Later => verdict.state === 'later');
  const next = headerAfter(content.header, later?.reason ?? titles(refused), work);
  // What was accepted leaves the spool first: whatever else fails, hour after hour, it is not asked for again.
  await putBack(file, next, [...refused, ...left], work);
  tally.accepted += accepted;
  tally.left -= accepted;
  if (refused.length > 0) {
    work.unreported.push(await spool.addRefused(file, next, refused, titles(refused)));
    await putBack(file, next, left, work);
    tally.refused += refused.length;
    tally.left -= refused.length;
  }
  const over = overdue(next, work);
  if (left.length > 0 && over !== undefined) await giveUp(file, spool.content(next, left), over, work);
}

function headerAfter(header: SpoolHeader, reason: string, { clock, signal }: Work): SpoolHeader {
  // Being told to stop is no failure of the API.
  const failed = signal?.aborted ? 0 : 1;
  return {
    ...header,
    retryCount: header.retryCount + failed,
    lastError: { at: clock().toISOString(), reason },
  };
}

async function putBack(file: string, header: SpoolHeader, rest: readonly Item[], { spool }: Work): Promise<void> {
  if (rest.length === 0) await spool.remove('spool', file);
  else await spool.rewrite(file, header, rest);
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
    work.unreported.push(await spool.setAside(file));
    work.tally.left -= work.notifications;
    return undefined;
  }
}

/** adr-006-spool-retention.md, 原則 4. A clock that went back makes a file younger, never older. */
function overdue({ firstAttempt, retryCount, givenUp }: SpoolHeader, { clock, retentionMs, maxRetries }: Work) {
  // It was given up, and whoever did it died or could not move it.
  if (givenUp !== undefined) return givenUp.because;
  if (retryCount >= maxRetries) return 'too-many-retries';
  return clock().getTime() - Date.parse(firstAttempt) > retentionMs ? 'too-old' : undefined;
}

async function giveUp(file: string, content: SpoolFile, because: GivenUpBecause, work: Work): Promise<void> {
  work.unreported.push(await work.spool.giveUp(file, content, because));
  work.tally.left -= content.header.notifications;
}

/** Told when it has been moved, and marked as told after that: a death in between tells twice, and never not at all. */
async function tell(name: string, { spool, tell: onGivenUp }: FlushDeps, givenUp: GivenUp[]): Promise<void> {
  const given = await givenUpOf(spool, name);
  await onGivenUp(given);
  givenUp.push(given);
  await spool.markReported(name);
}

function refusal(item: Item, verdict: HandoverOutcome | undefined): Item[] {
  return verdict?.state === 'refused' ? [{ ...item, problem: verdict.problem }] : [];
}

/** The API's own words, or the status: this is in the clear, and another's answer may hold anything. */
function titles(refused: readonly Item[]): string {
  const title = ({ problem }: Item) =>
    /^urn:notification-retry:problem:([a-z-]{1,60})$/.exec(problem?.type ?? '')?.[1] ?? `status ${problem?.status}`;
  return [...new Set(refused.map(title))].join(', ');
}

function becauseOf(error: unknown): string {
  return error instanceof UnreadableFileError ? error.message : whyFailed(error);
}
