import { join } from 'node:path';
import { type Draft, draftsIn, type FileSystem, isAbandoned, isGone, moveDurably } from './durable-files.ts';
import { decode } from './spool-file.ts';
import type { Folder } from './spool-names.ts';

/** What could not be put in order: a file, or a whole folder by its path. */
export interface Fault {
  readonly file: string;
  readonly error: unknown;
}

/**
 * Finishes what writers that died left behind: a whole draft becomes the file it was to be; half of one is removed, for
 * whoever wrote it was never told that it is safe. None that cannot be read stops the others, nor what comes after.
 */
export async function recoverDrafts(
  fs: FileSystem,
  folders: Readonly<Record<Folder, string>>,
  now: Date,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  const attempt = async (file: string, run: () => Promise<void>) => {
    // What is gone has been finished by another flush.
    await run().catch((error) => isGone(error) || faults.push({ file, error }));
  };
  for (const folder of ['spool', 'failed'] as const) {
    const directory = folders[folder];
    await attempt(directory, async () => {
      for (const draft of await draftsIn(fs, directory)) {
        await attempt(draft.file, async () => {
          if (await isAbandoned(fs, directory, draft, now)) await finish(fs, folder, directory, draft);
        });
      }
    });
  }
  return faults;
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
