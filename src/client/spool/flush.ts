import { BATCH_LIMIT } from '../handover/api.ts';
import { type ApiState, newApiState } from '../handover/hand-over.ts';
import { whyFailed } from './durable-files.ts';
import { type FileFlushDeps, flushFiles, type Waiting } from './flush-file.ts';
import type { Spool } from './spool.ts';
import { type GivenUpBecause, UnreadableFileError } from './spool-file.ts';
import { originName } from './spool-names.ts';
import type { Listed } from './spool-reader.ts';

/** Reported to operators once: a file is in data/failed and waits for them. */
export interface GivenUp {
  /** Name in the spool. A corrupt or refused file has another name in data/failed, which begins with this name. */
  readonly file: string;
  readonly because: GivenUpBecause | 'corrupt';
  /** Undefined if the file is not readable. */
  readonly notifications?: number;
  readonly firstAttempt?: string;
  /** The last error, or the fault of the file. */
  readonly reason: string;
}

/** Counts of notifications, and the files that need attention. */
export interface FlushReport {
  readonly accepted: number;
  readonly refused: number;
  /** Notifications that are still in the spool, without those in unreadable files. */
  readonly left: number;
  readonly givenUp: readonly GivenUp[];
  /** Files, or a folder by its path, that could not be handled: another key, a newer version, a failing disk. */
  readonly skipped: readonly { readonly file: string; readonly because: string }[];
  /** Why notifications were not handed over, with how many: `unauthenticated`, `status 503`, `no answer (…)`. */
  readonly leftBecause: Readonly<Record<string, number>>;
  /** The signal was aborted before all files were handled. */
  readonly interrupted: boolean;
}

/** Counts of notifications. */
export interface FlushProgress {
  readonly done: number;
  readonly total: number;
}

export interface FlushOptions {
  readonly onProgress?: (progress: FlushProgress) => void;
  readonly signal?: AbortSignal;
  readonly files?: readonly string[];
}

/** @internal */
export interface FlushDeps extends FileFlushDeps {
  readonly onGivenUp: (given: GivenUp) => void | Promise<void>;
  readonly onLargeSpool: (size: SpoolSize) => void;
}

export interface SpoolSize {
  readonly files: number;
  readonly bytes: number;
}

/** What adr-006-spool-retention.md expects of seven days: ten files a day, of up to 10 MB. */
const EXPECTED: SpoolSize = { files: 70, bytes: 700_000_000 };

/** Oldest first. A file that fails does not stop the others. The caller holds the lock. @internal */
export async function flushSpool(deps: FlushDeps, { onProgress, signal, files }: FlushOptions): Promise<FlushReport> {
  const { spool } = deps;
  const { unreported, faults } = await spool.recover();
  const wanted = files && new Set(files);
  const listed = (await spool.list('spool')).filter(({ file }) => wanted?.has(file) ?? true);
  const total = listed.reduce((sum, { header }) => sum + (header?.notifications ?? 0), 0);
  const givenUp: GivenUp[] = [];
  const skipped = faults.map(({ file, error }) => ({ file, because: becauseOf(error) }));
  const tally = { accepted: 0, refused: 0, left: total, leftBecause: {} as Record<string, number> };
  const attempt = async (file: string, run: () => Promise<void>) => {
    await run().catch((error) => skipped.push({ file, because: becauseOf(error) }));
  };
  const reportUnreported = async () => {
    for (const name of unreported.splice(0)) await attempt(name, () => report(name, deps, givenUp));
  };
  // The process that moved these files crashed, or could not report them.
  await reportUnreported();
  const api: ApiState = { ...newApiState(), split: { failures: 0 } };
  let done = 0;
  for (const group of requestsOf(listed)) {
    const names = group.map(({ file }) => file).join(', ');
    if (!signal?.aborted) {
      await attempt(names, () => flushFiles(group, { ...deps, api, signal, tally, unreported, attempt }));
      await reportUnreported();
    }
    for (const { notifications } of group) {
      done += notifications;
      onProgress?.({ done, total });
    }
  }
  if (tally.left > 0) {
    const size = await spool.size();
    if (size.files > EXPECTED.files || size.bytes > EXPECTED.bytes) deps.onLargeSpool(size);
  }
  return { ...tally, givenUp, skipped, interrupted: signal?.aborted === true };
}

/** Files that fill one request, in their order. */
function requestsOf(listed: readonly Listed[]): Waiting[][] {
  const groups: Waiting[][] = [];
  let room = 0;
  for (const { file, header } of listed) {
    const notifications = header?.notifications ?? 0;
    if (notifications > room || groups.length === 0) groups.push([]);
    room = (groups.at(-1)?.length === 0 ? BATCH_LIMIT : room) - notifications;
    groups.at(-1)?.push({ file, notifications });
  }
  return groups;
}

/** Marks a file after its report: a process that crashes in between reports twice, never not at all. */
async function report(name: string, { spool, onGivenUp }: FlushDeps, givenUp: GivenUp[]): Promise<void> {
  const given = await describeGivenUp(spool, name);
  await onGivenUp(given);
  givenUp.push(given);
  await spool.markReported(name);
}

function becauseOf(error: unknown): string {
  return error instanceof UnreadableFileError ? error.message : whyFailed(error);
}

/** Describes a file in data/failed from the file alone, because the process that moved it there may have crashed. @internal */
export async function describeGivenUp(spool: Spool, name: string): Promise<GivenUp> {
  const file = originName(name);
  const { header } = await spool.head('failed', name);
  if (header === undefined) return { file, because: 'corrupt', reason: await faultOf(spool, name) };
  const { givenUp, notifications, firstAttempt, lastError } = header;
  // The header lacks it only if a flush that had lost its lock moved a file that was sent again in the meantime.
  const because = givenUp?.because ?? 'too-many-retries';
  return { file, because, notifications, firstAttempt, reason: lastError.reason };
}

async function faultOf(spool: Spool, name: string): Promise<string> {
  try {
    spool.open(await spool.read('failed', name));
    return 'it was set aside';
  } catch (error) {
    return (error as Error).message;
  }
}
