import {
  chmodSync,
  closeSync,
  globSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  appendPrivately,
  continuePrivateFile,
  createPrivateFile,
  writePrivateFile,
} from '../../src/processes/private-file.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

let directory: string;
let path: string;
let umask: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'private-file-'));
  path = join(directory, 'file');
  umask = process.umask(0);
});
afterEach(() => process.umask(umask));

const mode = (file: string) => statSync(file).mode & 0o777;
function written(open: (path: string) => number): void {
  const file = open(path);
  writeSync(file, 'secret');
  closeSync(file);
}

/** All ways to write a file. */
const WAYS: Readonly<Record<string, () => void>> = {
  createPrivateFile: () => written(createPrivateFile),
  continuePrivateFile: () => written(continuePrivateFile),
  writePrivateFile: () => writePrivateFile(path, 'secret'),
  appendPrivately: () => appendPrivately(path, 'secret'),
};

describe.each(Object.entries(WAYS))('%s', (name, write) => {
  it('makes a file for its owner only, whatever the umask says', () => {
    write();
    expect([readFileSync(path, 'utf8'), mode(path)]).toEqual(['secret', 0o600]);
  });

  it('closes a file that was open to all, before it writes', () => {
    writeFileSync(path, 'old');
    chmodSync(path, 0o666);
    write();
    expect(mode(path)).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toMatch(/secret$/);
  });

  it.each(['there', 'missing'])('overwrites nothing through a link to a file that is %s', (target) => {
    const other = join(directory, 'other');
    if (target === 'there') writeFileSync(other, 'precious');
    for (const link of [path, `${path}.new`]) symlinkSync(other, link);
    let code: unknown;
    try {
      write();
    } catch (error) {
      code = (error as NodeJS.ErrnoException).code;
    }
    expect(code).toBe('ELOOP');
    if (target === 'there') expect(readFileSync(other, 'utf8')).toBe('precious');
    else expect(() => statSync(other)).toThrow('ENOENT');
  });

  it('writes into no folder', () => {
    mkdirSync(path);
    expect(write).toThrow(/EISDIR|no file/);
  });

  if (!/^(continue|append)/.test(name)) {
    it('leaves what another name leads to, and a descriptor that is open elsewhere', () => {
      const other = join(directory, 'other');
      writeFileSync(other, 'precious');
      linkSync(other, path);
      const open = openSync(path, 'r+');
      write();
      writeSync(open, 'x');
      closeSync(open);
      expect([readFileSync(other, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['xrecious', 'secret']);
    });
  }
});

it('a draft that is a link is not followed, and the file stays as it was', () => {
  const other = join(directory, 'other');
  writeFileSync(other, 'precious');
  writeFileSync(path, 'before');
  symlinkSync(other, `${path}.new`);
  expect(() => writePrivateFile(path, 'secret')).toThrow('no file');
  expect([readFileSync(other, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['precious', 'before']);
});

/** What writes files by itself, and why it may. */
const WRITERS: Readonly<Record<string, string>> = {
  'src/processes/private-file.ts': 'it is the helper',
  'src/processes/pid-lock.ts': 'a lock, which other users read: exclusive, not followed, nothing secret',
  'src/client/spool/durable-files.ts': 'durable: exclusive, 0600, not followed, and synced',
  'src/client/spool/spool-lock.ts': 'a lock of the spool: exclusive, 0600',
  'src/client/spool/spool-reader.ts': 'it only reads',
  'src/cli/session/rejects-file.ts': 'into what the helper opened, or a pipe',
  'src/cli/commands/members/export.ts': 'into what the helper opened',
};

it('every file that is written is written by the helper', () => {
  const sources = globSync('src/**/*.ts', { cwd: PROJECT_ROOT });
  const writes =
    /\b(writeFile|appendFile|copyFile|cp|truncate|symlink|link)(Sync)?\(|createWriteStream\(|\bopenSync\(|fs\.open\(/;
  const writers = sources.filter((file) => {
    const text = readFileSync(join(PROJECT_ROOT, file), 'utf8');
    return /from 'node:fs(\/promises)?'|FileSystem\b/.test(text) && writes.test(text);
  });
  expect(writers.sort()).toEqual(Object.keys(WRITERS).sort());
});
