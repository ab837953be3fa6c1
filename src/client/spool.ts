import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  type FileSystem,
  filesIn,
  isGone,
  makeDirectory,
  moveDurably,
  removeDurably,
  writeDurably,
} from './durable-files.ts';
import type { Item } from './item.ts';
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
import { CORRUPT, type Folder, foreign, SPOOL } from './spool-names.ts';
import { recoverDrafts } from './spool-recovery.ts';

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

    /** Moves a file to data/failed, with the reason in its first line. A crash in between leaves it in both. */
    async giveUp(file: string, content: SpoolFile, because: GivenUpBecause): Promise<void> {
      const givenUp = { at: clock().toISOString(), because };
      await write('failed', file, { ...content, header: { ...content.header, givenUp } });
      await removeDurably(fs, directory, file);
    },

    content: contentOf,

    /** Keeps what the API refused in data/failed. Its name follows from the items, so that doing it twice is harmless. */
    async addRefused(origin: string, header: SpoolHeader, refused: readonly Item[]): Promise<string> {
      const keysOf = refused.map(({ idempotency_key }) => idempotency_key).join('\n');
      const mark = createHash('sha256').update(keysOf).digest('hex').slice(0, 12);
      const file = `${origin.replace(/\.spool$/, '')}-refused-${mark}.spool`;
      const givenUp = { at: clock().toISOString(), because: 'refused' } as const;
      await write('failed', file, contentOf({ ...header, givenUp }, refused));
      return file;
    },

    /** Moves what is not a whole spool file out of the way. @returns its new name in data/failed */
    async setAside(file: string): Promise<string> {
      const name = `${file}.${randomBytes(4).toString('hex')}${CORRUPT}`;
      await makeDirectory(fs, failedDirectory);
      await moveDurably(fs, pathOf('spool', file), join(failedDirectory, name));
      return name;
    },

    /** Back from data/failed into the spool, with a fresh budget of time and retries; the idempotency keys stay. */
    async resend(file: string): Promise<void> {
      const content = await this.read('failed', file);
      const { givenUp: _, ...header } = content.header;
      const firstAttempt = clock().toISOString();
      await write('spool', file, { ...content, header: { ...header, firstAttempt, retryCount: 0 } });
      await removeDurably(fs, failedDirectory, file);
    },

    recover: () => recoverDrafts(fs, folders, clock()),
  };
}

/** One file that the disk does not give back is no reason to leave the others. */
function faultOf(error: unknown): CorruptFileError | UnreadableFileError {
  if (error instanceof CorruptFileError || error instanceof UnreadableFileError) return error;
  return new UnreadableFileError(`it cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error });
}
