import { mkdtempSync, rmSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FileSystem, makeDirectory } from '../../../src/client/spool/durable-files.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'durable-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The directories that were synced: nothing else opens a directory. */
async function syncedFor(directory: string): Promise<string[]> {
  const synced: string[] = [];
  const watched: FileSystem = {
    ...fs,
    open: (path, ...rest) => {
      synced.push(String(path));
      return fs.open(path, ...rest);
    },
  };
  await makeDirectory(watched, directory);
  return synced.sort();
}

it('a new directory is made durable by a sync of its parent, and so is each new parent', async () => {
  expect(await syncedFor(join(root, 'data', 'spool'))).toEqual([root, join(root, 'data')]);
  expect(await syncedFor(join(root, 'data', 'failed'))).toEqual([join(root, 'data')]);
  expect(await syncedFor(join(root, 'data', 'failed'))).toEqual([]);
});
