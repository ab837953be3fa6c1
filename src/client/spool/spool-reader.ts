import { join } from 'node:path';
import type { Item } from '../handover/item.ts';
import { type FileSystem, filesIn, isGone, unlessAbsent } from './durable-files.ts';
import type { SpoolKey } from './seal.ts';
import {
  CorruptFileError,
  decode,
  decodeHeader,
  openItems,
  type SpoolFile,
  type SpoolHeader,
  UnreadableFileError,
} from './spool-file.ts';
import { CORRUPT, type Folder, nameFault } from './spool-names.ts';

/** A file with its first line, or with what is wrong with the file. */
export type Listed = { readonly folder: Folder; readonly file: string } & (
  | { readonly header: SpoolHeader }
  | { readonly header?: undefined; readonly fault: CorruptFileError | UnreadableFileError }
);

/** No first line is longer: a reason has at most 500 characters (spool-file.ts), each at most six bytes in JSON. */
const HEAD_BYTES = 4_096;

export type SpoolReader = ReturnType<typeof createSpoolReader>;

/** @param keys each of them decrypts */
export function createSpoolReader(
  fs: FileSystem,
  folders: Readonly<Record<Folder, string>>,
  keys: readonly SpoolKey[],
) {
  const pathOf = (folder: Folder, file: string) => join(folders[folder], file);

  async function head(folder: Folder, file: string): Promise<Listed> {
    const because = nameFault(folder, file);
    if (because !== undefined) return { folder, file, fault: new UnreadableFileError(because) };
    if (file.endsWith(CORRUPT)) return { folder, file, fault: new CorruptFileError('it was set aside') };
    const handle = await fs.open(pathOf(folder, file), 'r');
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      return { folder, file, header: decodeHeader(buffer.toString('utf8', 0, bytesRead)) };
    } catch (fault) {
      return { folder, file, fault: faultOf(fault) };
    } finally {
      await handle.close();
    }
  }

  return {
    folders,
    pathOf,

    /** Reads only the first line of a file. */
    head,

    /** The file of this name in one of the folders, with its first line; undefined if there is none. */
    async find(file: string): Promise<Listed | undefined> {
      for (const folder of ['spool', 'failed'] as const) {
        const found = file.startsWith('.') ? undefined : await fs.stat(pathOf(folder, file)).catch(unlessAbsent);
        if (found?.isFile()) return head(folder, file).catch((error) => ({ folder, file, fault: faultOf(error) }));
      }
      return undefined;
    },

    /** The files in the order of their first attempts (adr-006), and after them those without a readable first line. */
    async list(folder: Folder): Promise<Listed[]> {
      const listed: Listed[] = [];
      for (const file of await filesIn(fs, folders[folder])) {
        const entry = await head(folder, file).catch((error) =>
          isGone(error) ? undefined : { folder, file, fault: faultOf(error) },
        );
        if (entry) listed.push(entry);
      }
      const placed = listed.map((entry) => {
        const { file, header } = entry;
        return { entry, place: `${header ? new Date(header.firstAttempt).toISOString() : '~'} ${file}` };
      });
      return placed.sort((a, b) => (a.place < b.place ? -1 : 1)).map(({ entry }) => entry);
    },

    async size(): Promise<{ readonly files: number; readonly bytes: number }> {
      const files = await filesIn(fs, folders.spool);
      let bytes = 0;
      // One whose size cannot be told counts as a file.
      for (const file of files) bytes += (await fs.stat(pathOf('spool', file)).catch(() => undefined))?.size ?? 0;
      return { files: files.length, bytes };
    },

    /** @throws CorruptFileError, UnreadableFileError */
    async read(folder: Folder, file: string): Promise<SpoolFile> {
      const because = nameFault(folder, file);
      if (because !== undefined) throw new UnreadableFileError(because);
      return decode(await fs.readFile(pathOf(folder, file), 'utf8'));
    },

    /** @throws CorruptFileError, UnreadableFileError */
    open: (content: SpoolFile): Item[] => openItems(content, keys),
  };
}

/** A file that the disk cannot read must not stop the other files. */
function faultOf(error: unknown): CorruptFileError | UnreadableFileError {
  if (error instanceof CorruptFileError || error instanceof UnreadableFileError) return error;
  return new UnreadableFileError(`it cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error });
}
