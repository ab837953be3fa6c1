import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Item } from '../handover/item.ts';
import {
  type Draft,
  draftsIn,
  type FileSystem,
  filesIn,
  isAbandoned,
  isGone,
  makeDirectory,
  moveDurably,
  removeDurably,
  unlessAbsent,
  writeDurably,
} from './durable-files.ts';
import type { SpoolKey } from './seal.ts';
import { decode, encode, type GivenUpBecause, type SpoolFile, type SpoolHeader, sealItems } from './spool-file.ts';
import {
  corruptName,
  type Folder,
  isUnreported,
  nameFault,
  refusedName,
  reportedName,
  SPOOL,
  unreportedName,
} from './spool-names.ts';
import { createSpoolReader, type SpoolReader } from './spool-reader.ts';

export interface SpoolOptions {
  readonly fs: FileSystem;
  readonly clock: () => Date;
  readonly directory: string;
  readonly failedDirectory: string;
  /** The first key encrypts; all keys decrypt. */
  readonly keys: readonly SpoolKey[];
}

/** The notifications on disk that could not be handed over, and those that were given up. */
export type Spool = ReturnType<typeof createSpool>;

export function createSpool({ fs, clock, directory, failedDirectory, keys }: SpoolOptions) {
  const folders = { spool: directory, failed: failedDirectory };
  const reader = createSpoolReader(fs, folders, keys);
  const writer = createSpoolWriter(reader, { fs, clock, keys });
  return {
    ...reader,
    ...writer,
    ...createFailedFolder(reader, writer, clock),
    recover: () => recover(fs, folders, clock()),
  };
}

type SpoolWriter = ReturnType<typeof createSpoolWriter>;

/** Writes the files of the spool. Each change of a file is complete, or not made at all. */
function createSpoolWriter(
  { folders, pathOf }: SpoolReader,
  { fs, clock, keys: [key] }: Pick<SpoolOptions, 'fs' | 'clock' | 'keys'>,
) {
  const content = (header: SpoolHeader, items: readonly Item[]): SpoolFile => sealItems(items, header, key);

  async function write(folder: Folder, file: string, written: SpoolFile): Promise<void> {
    await makeDirectory(fs, folders[folder]);
    await writeDurably(fs, folders[folder], file, encode(written));
  }

  return {
    content,
    write,

    /** Writes items that could not be handed over to a new file. @returns its name; the file is on disk then */
    async add(items: readonly Item[], firstAttempt: Date, reason: string): Promise<string> {
      const first = firstAttempt.toISOString();
      const file = `${first.replaceAll(/[-:.]/g, '')}-${randomBytes(6).toString('hex')}${SPOOL}`;
      const lastError = { at: clock().toISOString(), reason };
      const header = {
        version: 1,
        firstAttempt: first,
        retryCount: 0,
        notifications: items.length,
        lastError,
      } as const;
      await write('spool', file, content(header, items));
      return file;
    },

    /** Replaces a file by one with the items that are left of it. */
    rewrite: (file: string, header: SpoolHeader, left: readonly Item[]) => write('spool', file, content(header, left)),

    remove: (folder: Folder, ...files: readonly string[]) => removeDurably(fs, folders[folder], ...files),

    rename: (folder: Folder, file: string, name: string) => moveDurably(fs, pathOf(folder, file), pathOf(folder, name)),

    /** @returns the name in the other folder */
    async move(file: string, from: Folder, to: Folder, name: string): Promise<string> {
      await makeDirectory(fs, folders[to]);
      await moveDurably(fs, pathOf(from, file), pathOf(to, name));
      return name;
    },
  };
}

/** Moves files to data/failed and back; a prefix marks one that is not reported. The caller holds the lock. */
function createFailedFolder(
  { read, open }: SpoolReader,
  { write, content, rename, move }: SpoolWriter,
  clock: () => Date,
) {
  /** Marks that a file was reported. Its receiver may already have removed it. @returns the new name */
  async function markReported(file: string): Promise<string> {
    const name = reportedName(file);
    if (name !== file) await rename('failed', file, name).catch(unlessAbsent);
    return name;
  }

  return {
    markReported,

    /**
     * Gives a file up. What is left of the file, and the reason, are written in its place before it moves, so that
     * there is one copy whenever the process crashes.
     * @returns the name in data/failed
     */
    async giveUp(file: string, left: SpoolFile, because: GivenUpBecause): Promise<string> {
      const { header } = left;
      if (header.givenUp === undefined) {
        const givenUp = { at: clock().toISOString(), because };
        await write('spool', file, { ...left, header: { ...header, givenUp } });
      }
      return move(file, 'spool', 'failed', unreportedName(file));
    },

    /** Keeps what the API refused; its name follows from the items, so a repetition is harmless. @returns the name */
    async addRefused(origin: string, header: SpoolHeader, refused: readonly Item[], reason: string): Promise<string> {
      const at = clock().toISOString();
      // The key alone is not enough: the caller may give two items the same key.
      const items = JSON.stringify(refused.map(({ problem: _, ...item }) => item));
      const mark = createHash('sha256').update(items).digest('hex').slice(0, 12);
      const file = unreportedName(refusedName(origin, mark));
      const givenUp = { at, because: 'refused' } as const;
      await write('failed', file, content({ ...header, lastError: { at, reason }, givenUp }, refused));
      return file;
    },

    /** Moves a file away that is not a whole spool file. @returns the name in data/failed */
    setAside: (file: string) =>
      move(file, 'spool', 'failed', unreportedName(corruptName(file, randomBytes(4).toString('hex')))),

    /**
     * Moves a file back into the spool, with a new budget of time and retries and the old idempotency keys. The budget
     * is written before the file moves, so that there is one copy whenever the process crashes. The key of the file must
     * be known, because the new first line is authenticated.
     * @returns the name in the spool
     * @throws CorruptFileError, UnreadableFileError; the file is then as it was
     */
    async resend(file: string): Promise<string> {
      const given = await read('failed', file);
      const items = open(given);
      const name = await markReported(file);
      const { givenUp: _, ...header } = given.header;
      const firstAttempt = clock().toISOString();
      await write('failed', name, content({ ...header, firstAttempt, retryCount: 0 }, items));
      return move(name, 'failed', 'spool', name);
    },
  };
}

/** A file that could not be recovered, or a whole folder by its path. */
interface Fault {
  readonly file: string;
  readonly error: unknown;
}

export interface Recovered {
  /** The files in data/failed that have not been reported yet. */
  readonly unreported: string[];
  readonly faults: readonly Fault[];
}

/**
 * Finishes the work of processes that crashed. A file that cannot be read does not stop the recovery.
 *
 * A complete draft gets the name of its file. An incomplete draft is removed: its writer never reported it as safe. A
 * file that is in both folders stays in the spool: a move between two file systems makes two copies for a moment.
 */
async function recover(fs: FileSystem, folders: Readonly<Record<Folder, string>>, now: Date): Promise<Recovered> {
  const unreported: string[] = [];
  const faults: Fault[] = [];
  const attempt = async (file: string, run: () => Promise<void>) => {
    // Another flush has finished a file that is gone.
    await run().catch((error) => isGone(error) || faults.push({ file, error }));
  };
  const drafts = async (folder: Folder) => {
    for (const draft of await draftsIn(fs, folders[folder])) {
      await attempt(draft.file, async () => {
        if (await isAbandoned(fs, folders[folder], draft, now)) await finish(fs, folder, folders[folder], draft);
      });
    }
  };
  await attempt(folders.spool, () => drafts('spool'));
  await attempt(folders.failed, async () => {
    await drafts('failed');
    const waiting = new Set(await filesIn(fs, folders.spool));
    for (const file of await filesIn(fs, folders.failed)) {
      if (isUnreported(file)) unreported.push(file);
      else if (waiting.has(file)) await attempt(file, () => removeCopy(fs, folders, file));
    }
  });
  return { unreported, faults };
}

async function removeCopy(fs: FileSystem, folders: Readonly<Record<Folder, string>>, file: string): Promise<void> {
  if (nameFault('spool', file) !== undefined) return;
  if (isWhole(await fs.readFile(join(folders.spool, file), 'utf8'))) await removeDurably(fs, folders.failed, file);
}

async function finish(fs: FileSystem, folder: Folder, directory: string, { file, name }: Draft): Promise<void> {
  const path = join(directory, file);
  // A draft in data/failed is a second copy: a file leaves the spool only after it is complete there.
  const needed = folder === 'spool' && isWhole(await fs.readFile(path, 'utf8'));
  if (needed) await moveDurably(fs, path, join(directory, name));
  else await fs.unlink(path);
}

function isWhole(text: string): boolean {
  try {
    decode(text);
    return true;
  } catch {
    return false;
  }
}
