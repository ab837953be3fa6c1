import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  draftsIn,
  type FileSystem,
  filesIn,
  isAbandoned,
  isFull,
  makeDirectory,
  moveDurably,
  removeDurably,
  whyFailed,
  writeDurably,
} from '../../../src/client/spool/durable-files.ts';
import { lockSpool } from '../../../src/client/spool/spool-lock.ts';
import { errno, faultyFs } from '../../support/client/faulty-fs.ts';

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

/** The real file system, the names of its calls, and an error for those that are named. */
function recording(errors: Readonly<Record<string, Error>> = {}, border = false) {
  const calls: string[] = [];
  const files = faultyFs((_, name) => {
    calls.push(name);
    return errors[name];
  }, border);
  return { files, calls };
}
/** Refuses each new file, rename and removal so often. */
function holding(files: FileSystem, code: string, times: number): FileSystem {
  const refused = { open: 0, rename: 0, unlink: 0 };
  const refuse = (call: keyof typeof refused) => {
    if (refused[call]++ < times) throw errno(code);
    refused[call] = 0;
  };
  return {
    ...files,
    async open(file, flags, ...rest) {
      if (flags === 'wx') refuse('open');
      return files.open(file, flags, ...rest);
    },
    async rename(...paths) {
      refuse('rename');
      return files.rename(...paths);
    },
    async unlink(file) {
      refuse('unlink');
      return files.unlink(file);
    },
  };
}
const SYNC = ['open', 'file.sync', 'file.close'];
const WRITE = ['open', 'file.writeFile', 'file.sync', 'file.close', 'rename', ...SYNC];
const path = (...names: string[]) => join(root, ...names);

describe('a file that is written durably', () => {
  it('is complete and on the disk before it gets its name, and the name after that; only its owner reads it', async () => {
    const { files, calls } = recording();
    await writeDurably(files, root, 'a.spool', 'text');
    expect(calls).toEqual(WRITE);
    expect([readdirSync(root), readFileSync(path('a.spool'), 'utf8')]).toEqual([['a.spool'], 'text']);
    expect(statSync(path('a.spool')).mode & 0o777).toBe(0o600);
  });

  it('stays as it was when the disk is full: the draft is closed and removed', async () => {
    writeFileSync(path('a.spool'), 'before');
    const { files, calls } = recording({ 'file.writeFile': errno('ENOSPC') });
    await expect(writeDurably(files, root, 'a.spool', 'text')).rejects.toThrow('ENOSPC');
    expect(calls).toEqual(['open', 'file.writeFile', 'file.close', 'unlink']);
    expect([readdirSync(root), readFileSync(path('a.spool'), 'utf8')]).toEqual([['a.spool'], 'before']);
  });

  it('fails for the first reason when the draft cannot be removed either', async () => {
    const { files } = recording({ 'file.sync': errno('EIO'), unlink: errno('EROFS') });
    await expect(writeDurably(files, root, 'a.spool', 'text')).rejects.toThrow('EIO');
  });

  it.each(['EISDIR', 'EPERM', 'EINVAL', 'ENOTSUP'])(
    'is written where a directory cannot be synced: %s',
    async (code) => {
      writeFileSync(path('a.spool'), '');
      const { files } = recording({ open: errno(code) });
      expect(await removeDurably(files, root, 'a.spool')).toBeUndefined();
    },
  );

  it.each([errno('EIO'), new Error('no code')])(
    'is no success when the sync of its directory fails: %s',
    async (error) => {
      const { files } = recording({ open: error });
      await expect(removeDurably(files, root, 'gone')).rejects.toBe(error);
    },
  );
});

describe('a file that is moved durably', () => {
  const [from, to] = [() => path('from', 'a.spool'), () => path('to', 'b.spool')];
  beforeEach(() => {
    for (const name of ['from', 'to']) mkdirSync(path(name));
    writeFileSync(from(), 'text');
  });

  it('is renamed, and both directories are synced', async () => {
    const { files, calls } = recording();
    await moveDurably(files, from(), to());
    expect(calls).toEqual(['rename', ...SYNC, ...SYNC]);
    expect([existsSync(from()), readFileSync(to(), 'utf8')]).toEqual([false, 'text']);
  });

  it('to another file system is complete there before it is removed here', async () => {
    const { files, calls } = recording({}, true);
    await moveDurably(files, from(), to());
    expect(calls).toEqual(['rename', 'readFile', ...WRITE, 'unlink', ...SYNC]);
    expect([existsSync(from()), readFileSync(to(), 'utf8')]).toEqual([false, 'text']);
  });

  it.each(['EPERM', 'EBUSY'])('waits while somebody holds it (%s)', async (code) => {
    const { files, calls } = recording({});
    const held = holding(files, code, 2);
    await moveDurably(held, from(), to());
    await writeDurably(held, root, 'written', 'text');
    await removeDurably(held, root, 'written');
    const release = await lockSpool(root, { fs: holding(fs, code, 2) });
    await release();
    expect(existsSync(path('.lock'))).toBe(false);
    expect(calls).toEqual(['rename', ...SYNC, ...SYNC, ...WRITE, 'unlink', ...SYNC]);
    expect([existsSync(from()), readFileSync(to(), 'utf8')]).toEqual([false, 'text']);
  });

  it('stays where it is if nobody lets go', async () => {
    const { files } = recording({});
    await expect(moveDurably(holding(files, 'EPERM', 100), from(), to())).rejects.toThrow('EPERM');
    expect([existsSync(from()), existsSync(to())]).toEqual([true, false]);
  });

  it('stays where it is for any other reason', async () => {
    const { files, calls } = recording({ rename: errno('EACCES') });
    await expect(moveDurably(files, from(), to())).rejects.toThrow('EACCES');
    expect(calls).toEqual(['rename']);
    expect([existsSync(from()), existsSync(to())]).toEqual([true, false]);
  });
});

describe('the drafts in a directory', () => {
  const NOW = new Date('2026-11-21T09:00:00.000Z');
  const draft = '.draft-12-345-0123abcd-89abcdef-a.spool';

  it('are known by their names, and by nothing that only looks like one', async () => {
    const others = [`x${draft}`, '.draft-12-345-0123abcd-89abcdef-', '.draft-12-345-0123-89abcdef-a.spool', 'a.spool'];
    for (const name of [draft, '.draft-7--0123abcd-89abcdef-b.spool', ...others]) writeFileSync(path(name), '');
    const drafts = await draftsIn(fs, root);
    expect(drafts.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
      { file: draft, name: 'a.spool', writer: { pid: 12, started: '345', scopeHash: '0123abcd' } },
      {
        file: '.draft-7--0123abcd-89abcdef-b.spool',
        name: 'b.spool',
        writer: { pid: 7, started: '', scopeHash: '0123abcd' },
      },
    ]);
    expect((await filesIn(fs, root)).sort()).toEqual(['a.spool', `x${draft}`]);
    expect([await draftsIn(fs, path('none')), await filesIn(fs, path('none'))]).toEqual([[], []]);
  });

  it.each([
    ['is as old as that', 0, false],
    ['is older', 1, true],
    ['seems to come from as far in the future', -7_200_000, false],
    ['seems to come from further in the future', -7_200_001, true],
  ])('of another host are abandoned after an hour: one that %s', async (_, ms, expected) => {
    writeFileSync(path(draft), '');
    const written = new Date(NOW.getTime() - 3_600_000);
    utimesSync(path(draft), written, written);
    const [found] = await draftsIn(fs, root);
    if (found === undefined) throw new Error('there is no draft');
    expect(await isAbandoned(fs, root, found, new Date(NOW.getTime() + ms))).toBe(expected);
    rmSync(path(draft));
    expect(await isAbandoned(fs, root, found, new Date(NOW.getTime() + ms))).toBe(false);
  });
});

it.each([
  [errno('ENOSPC'), true, 'the disk is full'],
  [errno('EDQUOT'), true, 'the disk is full'],
  [errno('EACCES'), false, 'EACCES: EACCES: no such luck'],
  [new TypeError('odd'), false, 'TypeError: odd'],
  ['odd', false, 'for an unknown reason'],
])('people read why a call failed: %s', (error, full, why) => {
  expect([isFull(error), whyFailed(error)]).toEqual([full, why]);
});
