import { join } from 'node:path';
import type { Item } from '../handover/item.ts';
import { type FileSystem, filesIn, isGone } from './durable-files.ts';
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

/** Headers are far shorter, because reasons are clipped. */
const HEAD_BYTES = 4_096;

/** Reads the files of the spool and of data/failed. */
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

    /** The files in the order of their first attempts (adr-006), and after them those without a readable first line. */
    async list(folder: Folder): Promise<Listed[]> {
      const listed: Listed[] = [];
      for (const file of await filesIn(fs, folders[folder])) {
        const entry = await head(folder, file).catch((error) =>
          isGone(error) ? undefined : { folder, file, fault: faultOf(error) },
        );
        if (entry) listed.push(entry);
      }
      const order = ({ file, header }: Listed) =>
        `${header ? new Date(header.firstAttempt).toISOString() : '~'} ${file}`;
      return listed.sort((a, b) => (order(a) < order(b) ? -1 : 1));
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
