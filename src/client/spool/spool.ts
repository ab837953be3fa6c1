import type { FileSystem } from './durable-files.ts';
import { createFailedFolder } from './failed-folder.ts';
import type { SpoolKey } from './seal.ts';
import { createSpoolReader } from './spool-reader.ts';
import { recover } from './spool-recovery.ts';
import { createSpoolWriter } from './spool-writer.ts';

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
  const writer = createSpoolWriter(reader, { fs, clock, key: keys[0] });
  return {
    ...reader,
    ...writer,
    ...createFailedFolder(reader, writer, clock),
    recover: () => recover(fs, folders, clock()),
  };
}
