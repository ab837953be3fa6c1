import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Item } from '../handover/item.ts';
import {
  type FileSystem,
  filesIn,
  isGone,
  makeDirectory,
  moveDurably,
  removeDurably,
  unlessAbsent,
  writeDurably,
} from './durable-files.ts';
import type { SpoolKey } from './seal.ts';
import {
  CorruptFileError,
  decode,
  decodeHeader,
  encode,
  type GivenUpBecause,
  openItems,
  type SpoolFile,
  type SpoolHeader,
  sealItems,
  UnreadableFileError,
} from './spool-file.ts';
import {
  CORRUPT,
  corruptName,
  type Folder,
  foreign,
  refusedName,
  reportedName,
  SPOOL,
  unreportedName,
} from './spool-names.ts';
import { recover } from './spool-recovery.ts';

export interface SpoolOptions {
  readonly fs: FileSystem;
  readonly clock: () => Date;
  readonly directory: string;
  readonly failedDirectory: string;
  /** The first encrypts; each of them decrypts. */
  readonly keys: readonly SpoolKey[];
}

/** A file by its first line, or what is wrong with it. */
export type Listed = { readonly folder: Folder; readonly file: string } & (
  | { readonly header: SpoolHeader }
  | { readonly header?: undefined; readonly fault: CorruptFileError | UnreadableFileError }
);

/** Headers are far shorter: reasons are clipped. */
const HEAD_BYTES = 4_096;

/** What could not be handed over, on disk. Each change of a file is whole or not at all. */
export type Spool = ReturnType<typeof createSpool>;

export function createSpool({ fs, clock, directory, failedDirectory, keys }: SpoolOptions) {
  const folders: Readonly<Record<Folder, string>> = { spool: directory, failed: failedDirectory };
  const pathOf = (folder: Folder, file: string) => join(folders[folder], file);

  async function write(folder: Folder, file: string, content: SpoolFile): Promise<void> {
    await makeDirectory(fs, folders[folder]);
    await writeDurably(fs, folders[folder], file, encode(content));
  }

  function contentOf(header: SpoolHeader, items: readonly Item[]): SpoolFile {
    const { keyId: _, ...rest } = header;
    const { payload, keyId } = sealItems(items, keys[0]);
    return { header: { ...rest, notifications: items.length, ...(keyId !== undefined && { keyId }) }, payload };
  }

  async function moveToFailed(file: string, name: string): Promise<string> {
    await makeDirectory(fs, failedDirectory);
    await moveDurably(fs, pathOf('spool', file), pathOf('failed', name));
    return name;
  }

  async function headOf(folder: Folder, file: string): Promise<Listed> {
    const because = foreign(folder, file);
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

    /** Writes a new file of what could not be handed over. @returns its name; it is on disk then */
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
      await write('spool', file, contentOf(header, items));
      return file;
    },

    /** The oldest first attempt first, as adr-006 has it; what has none comes last. */
    async list(folder: Folder): Promise<Listed[]> {
      const listed: Listed[] = [];
      for (const file of await filesIn(fs, folders[folder])) {
        const entry = await headOf(folder, file).catch((error) =>
          isGone(error) ? undefined : { folder, file, fault: faultOf(error) },
        );
        if (entry) listed.push(entry);
      }
      const order = ({ file, header }: Listed) =>
        `${header ? new Date(header.firstAttempt).toISOString() : '~'} ${file}`;
      return listed.sort((a, b) => (order(a) < order(b) ? -1 : 1));
    },

    head: headOf,

    /** @throws CorruptFileError, UnreadableFileError */
    async read(folder: Folder, file: string): Promise<SpoolFile> {
      const because = foreign(folder, file);
      if (because !== undefined) throw new UnreadableFileError(because);
      return decode(await fs.readFile(pathOf(folder, file), 'utf8'));
    },

    /** @throws CorruptFileError, UnreadableFileError */
    open: (content: SpoolFile) => openItems(content, keys),

    /** Puts what is left of a file in its place. */
    rewrite: (file: string, header: SpoolHeader, left: readonly Item[]) =>
      write('spool', file, contentOf(header, left)),

    remove: (folder: Folder, file: string) => removeDurably(fs, folders[folder], file),

    /**
     * Moves a file to data/failed, under a name that says that nobody was told of it yet. What is left of it, and why it
     * is given up, goes into it before, in its place: whenever the process dies, there is one copy.
     * @returns its name there
     */
    async giveUp(file: string, content: SpoolFile, because: GivenUpBecause): Promise<string> {
      const { header } = content;
      if (header.givenUp === undefined) {
        const givenUp = { at: clock().toISOString(), because };
        await write('spool', file, { ...content, header: { ...header, givenUp } });
      }
      return moveToFailed(file, unreportedName(file));
    },

    content: contentOf,

    /**
     * Keeps what the API refused in data/failed, as `giveUp` does. Its name follows from the items, so that doing it twice
     * is harmless.
     */
    async addRefused(origin: string, header: SpoolHeader, refused: readonly Item[], reason: string): Promise<string> {
      const at = clock().toISOString();
      // Two may have one key: it is the caller's to give.
      const items = JSON.stringify(refused.map(({ problem: _, ...item }) => item));
      const mark = createHash('sha256').update(items).digest('hex').slice(0, 12);
      const file = unreportedName(refusedName(origin, mark));
      const content = contentOf({ ...header, lastError: { at, reason }, givenUp: { at, because: 'refused' } }, refused);
      await write('failed', file, content);
      return file;
    },

    /** Moves what is not a whole spool file out of the way, as `giveUp` does. @returns its new name in data/failed */
    setAside: (file: string) => moveToFailed(file, unreportedName(corruptName(file, randomBytes(4).toString('hex')))),

    /** Marks that somebody was told of a file in data/failed, who may have removed it by now. @returns its name then */
    async markReported(file: string): Promise<string> {
      const name = reportedName(file);
      if (name !== file) {
        await moveDurably(fs, pathOf('failed', file), pathOf('failed', name)).catch(unlessAbsent);
      }
      return name;
    },

    /**
     * Back from data/failed into the spool, with a fresh budget of time and retries; the idempotency keys stay. The budget
     * goes into it before it is moved: whenever the process dies, there is one copy. The caller holds the lock.
     * @returns its name in the spool
     */
    async resend(file: string): Promise<string> {
      const content = await this.read('failed', file);
      const name = await this.markReported(file);
      const { givenUp: _, ...header } = content.header;
      const firstAttempt = clock().toISOString();
      await write('failed', name, { ...content, header: { ...header, firstAttempt, retryCount: 0 } });
      await makeDirectory(fs, directory);
      await moveDurably(fs, pathOf('failed', name), pathOf('spool', name));
      return name;
    },

    recover: () => recover(fs, folders, clock()),
  };
}

/** One file that the disk does not give back is no reason to leave the others. */
function faultOf(error: unknown): CorruptFileError | UnreadableFileError {
  if (error instanceof CorruptFileError || error instanceof UnreadableFileError) return error;
  return new UnreadableFileError(`it cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error });
}
