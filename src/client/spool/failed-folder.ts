import { createHash, randomBytes } from 'node:crypto';
import type { Item } from '../handover/item.ts';
import { unlessAbsent } from './durable-files.ts';
import type { GivenUpBecause, SpoolFile, SpoolHeader } from './spool-file.ts';
import { corruptName, refusedName, reportedName, unreportedName } from './spool-names.ts';
import type { SpoolReader } from './spool-reader.ts';
import type { SpoolWriter } from './spool-writer.ts';

/**
 * Moves files from the spool to data/failed and back. A file in data/failed has a prefix in its name until it is
 * reported. The caller holds the lock.
 */
export function createFailedFolder(
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
     * there is one copy whenever the process dies.
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

    /**
     * Keeps items that the API refused. The name follows from the items, so that a second call does no harm.
     * @returns the name in data/failed
     */
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
     * is written before the file moves, so that there is one copy whenever the process dies. The key of the file must
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
