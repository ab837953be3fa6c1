import { type ApiState, type HandOverOptions, handOver } from '../handover/hand-over.ts';
import type { Item } from '../handover/item.ts';
import type { HandoverOutcome, Postponed } from '../handover/retry-rules.ts';
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
  readonly tally: { accepted: number; refused: number; left: number };
  /** Names of the files that were moved to data/failed. */
  readonly unreported: string[];
  /** Notifications in the file, according to its first line. */
  readonly notifications: number;
}

/** Hands over the notifications of one file, and rewrites, removes or gives up the file. */
export async function flushFile(file: string, flush: FileFlush): Promise<void> {
  const { spool, tally } = flush;
  const opened = await open(file, flush);
  if (opened === undefined) return;
  const { content, items } = opened;
  const reason = giveUpReason(content.header, flush);
  if (reason !== undefined) return giveUp(file, content, reason, flush);
  if (items instanceof Error) throw items;

  const outcomes = await handOver(items, flush, flush.api, flush.signal);
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

function headerAfter(header: SpoolHeader, reason: string, { clock, signal }: FileFlush): SpoolHeader {
  // An aborted flush is not a failure of the API.
  const failed = signal?.aborted ? 0 : 1;
  return {
    ...header,
    retryCount: header.retryCount + failed,
    lastError: { at: clock().toISOString(), reason },
  };
}

async function putBack(file: string, header: SpoolHeader, rest: readonly Item[], { spool }: FileFlush): Promise<void> {
  if (rest.length === 0) await spool.remove('spool', file);
  else await spool.rewrite(file, header, rest);
}

/** The file and its items, or why the items are not readable; undefined if the file is corrupt and was set aside. */
async function open(
  file: string,
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
    if (!(error instanceof CorruptFileError)) throw error;
    flush.unreported.push(await spool.setAside(file));
    flush.tally.left -= flush.notifications;
    return undefined;
  }
}

/** adr-006-spool-retention.md, 原則 4. A clock that was set back makes a file younger, never older. */
function giveUpReason(
  { firstAttempt, retryCount, givenUp }: SpoolHeader,
  { clock, retentionMs, maxRetries }: FileFlush,
) {
  // The file was given up, but the process died or could not move the file.
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

/**
 * The names of the API's problems, or the status. The result is not encrypted, so it must not contain an unknown
 * answer.
 */
function titles(refused: readonly Item[]): string {
  const title = ({ problem }: Item) =>
    /^urn:notification-retry:problem:([a-z-]{1,60})$/.exec(problem?.type ?? '')?.[1] ?? `status ${problem?.status}`;
  return [...new Set(refused.map(title))].join(', ');
}
