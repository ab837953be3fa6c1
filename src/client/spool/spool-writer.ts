import { randomBytes } from 'node:crypto';
import type { Item } from '../handover/item.ts';
import { type FileSystem, makeDirectory, moveDurably, removeDurably, writeDurably } from './durable-files.ts';
import type { SpoolKey } from './seal.ts';
import { encode, type SpoolFile, type SpoolHeader, sealItems } from './spool-file.ts';
import { type Folder, SPOOL } from './spool-names.ts';
import type { SpoolReader } from './spool-reader.ts';

export interface SpoolWriterOptions {
  readonly fs: FileSystem;
  readonly clock: () => Date;
  /** Encrypts; without a key the files are not encrypted. */
  readonly key: SpoolKey | undefined;
}

/** Writes the files of the spool. Each change of a file is complete, or not made at all. */
export type SpoolWriter = ReturnType<typeof createSpoolWriter>;

export function createSpoolWriter({ folders, pathOf }: SpoolReader, { fs, clock, key }: SpoolWriterOptions) {
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
