import { join } from 'node:path';
import {
  type Draft,
  draftsIn,
  type FileSystem,
  filesIn,
  isAbandoned,
  isGone,
  moveDurably,
  removeDurably,
} from './durable-files.ts';
import { decode } from './spool-file.ts';
import { type Folder, foreign, isUnreported } from './spool-names.ts';

/** What could not be put in order: a file, or a whole folder by its path. */
export interface Fault {
  readonly file: string;
  readonly error: unknown;
}

export interface Recovered {
  /** In data/failed: nobody was told of them yet. */
  readonly unreported: string[];
  readonly faults: readonly Fault[];
}

/**
 * Finishes what processes that died left behind. None that cannot be read stops the others, nor what comes after.
 *
 * A whole draft becomes the file it was to be; half of one is removed, for whoever wrote it was never told that it is
 * safe. What is in both folders is the spool's: who moves a file over a border of file systems has two for a moment.
 */
export async function recover(
  fs: FileSystem,
  folders: Readonly<Record<Folder, string>>,
  now: Date,
): Promise<Recovered> {
  const unreported: string[] = [];
  const faults: Fault[] = [];
  const attempt = async (file: string, run: () => Promise<void>) => {
    // What is gone has been finished by another flush.
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
  if (foreign('spool', file) !== undefined) return;
  if (isWhole(await fs.readFile(join(folders.spool, file), 'utf8'))) await removeDurably(fs, folders.failed, file);
}

async function finish(fs: FileSystem, folder: Folder, directory: string, { file, name }: Draft): Promise<void> {
  const path = join(directory, file);
  // In data/failed it is a second copy: nothing leaves the spool before it is whole there.
  const wanted = folder === 'spool' && isWhole(await fs.readFile(path, 'utf8'));
  if (wanted) await moveDurably(fs, path, join(directory, name));
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
