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
import { type Folder, isUnreported, nameFault } from './spool-names.ts';

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
 * Finishes the work of processes that died. A file that cannot be read does not stop the recovery.
 *
 * A complete draft gets the name of its file. An incomplete draft is removed: its writer never reported it as safe. A
 * file that is in both folders stays in the spool: a move between two file systems makes two copies for a moment.
 */
export async function recover(
  fs: FileSystem,
  folders: Readonly<Record<Folder, string>>,
  now: Date,
): Promise<Recovered> {
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
