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

/** Directories are opened to be synced, and for nothing else. */
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

it('a directory that is made is synced into its parent, and each parent that was made into its own', async () => {
  expect(await syncedFor(join(root, 'data', 'spool'))).toEqual([root, join(root, 'data')]);
  expect(await syncedFor(join(root, 'data', 'failed'))).toEqual([join(root, 'data')]);
  expect(await syncedFor(join(root, 'data', 'failed'))).toEqual([]);
});
