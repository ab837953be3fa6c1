import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import { lockSpool, SpoolLockedError } from '../../../src/client/spool/spool-lock.ts';
import { ownIdentity } from '../../../src/processes/process-identity.ts';
import { errno, faultyFs } from '../../support/client/faulty-fs.ts';
import { notification, startWorld } from '../../support/client/world.ts';
import { PROJECT_ROOT } from '../../support/project-root.ts';

let directory: string;
const holders: ChildProcess[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'spool-lock-'));
});
afterEach(() => {
  for (const holder of holders.splice(0)) holder.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

const lock = () => lockSpool(directory, { fs, heartbeatMs: 20 });
const held = (text: string) => writeFileSync(join(directory, '.lock'), text);

/** Another process that takes the lock and keeps it. */
async function holder(): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [join(PROJECT_ROOT, 'test', 'support', 'client', 'lock-holder.ts'), directory],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  holders.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`the holder ended with ${code}`)));
  });
  return child;
}

/** Ends by a fault within a takeover. @param left the text of the claim that stays */
async function failToTakeOver(left: string): Promise<void> {
  const before = readdirSync(directory);
  const failing = faultyFs((_, name) => (['rename', 'unlink'].includes(name) ? errno('EIO') : undefined));
  await expect(lockSpool(directory, { fs: failing, heartbeatMs: 5 })).rejects.toThrow('EIO');
  const [claim = ''] = readdirSync(directory).filter((name) => !before.includes(name));
  writeFileSync(join(directory, claim), left);
}

describe('the lock of a spool', () => {
  it('belongs to one process until it is released', async () => {
    const release = await lock();
    await expect(lock()).rejects.toThrow(`is locked by pid ${process.pid} on`);
    await release();
    await (await lock())();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('names its living holder, and is free at once when the holder is killed with SIGKILL', async () => {
    const child = await holder();
    await expect(lock()).rejects.toMatchObject({ name: 'SpoolLockedError', pid: child.pid });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    const started = Date.now();
    const release = await lockSpool(directory, { fs });
    expect(Date.now() - started).toBeLessThan(2_000);
    await release();
  });

  it("is free although a later process has the dead holder's pid", async () => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
    await (await lock())();
  });

  it.each([
    ['another host', JSON.stringify({ pid: 1, scope: 'elsewhere boot pid:[1]', started: '5', token: 't' })],
    ['a holder that died before it wrote the file', ''],
    ['something unreadable', '{'],
  ])('of %s is abandoned when no heartbeat comes', async (_, text) => {
    held(text);
    await (await lock())();
  });

  it('of a living process on another host is held', async () => {
    held(JSON.stringify({ pid: 1, scope: 'elsewhere boot pid:[1]', started: '5', token: 't' }));
    let tick = 0;
    // The other host's clock is years behind. Only the change of the time counts.
    const heart = setInterval(() => utimesSync(join(directory, '.lock'), ++tick, tick), 10);
    await expect(lock()).rejects.toThrow('is locked by pid 1 on elsewhere');
    clearInterval(heart);
  });

  it('is taken from processes that died one after the other while they took it over', async () => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
    for (const token of ['second', 'third']) {
      await failToTakeOver(JSON.stringify({ ...ownIdentity(), started: '1', token }));
    }
    expect(readdirSync(directory)).toHaveLength(3);
    const release = await lock();
    await expect(lock()).rejects.toThrow(SpoolLockedError);
    await release();
  });

  it.each(['ENOSPC', 'EDQUOT'])('%s: it is held without a text, and released', async (code) => {
    const full = faultyFs((_, name) => (name === 'file.writeFile' ? errno(code) : undefined));
    const release = await lockSpool(directory, { fs: full, heartbeatMs: 5 });
    await expect(lock()).rejects.toThrow('is locked by another process');
    await release();
    expect(readdirSync(directory)).toEqual([]);
  });

  /** A holder on another host, whose heartbeat is seen at the given look and at none before it. */
  async function takenWhileBeating(atLook: number): Promise<unknown> {
    held(JSON.stringify({ pid: 1, scope: 'elsewhere boot pid:[1]', started: '5', token: 't' }));
    let looks = 0;
    const watched = {
      ...fs,
      stat: async (path: Parameters<FileSystem['stat']>[0]) => {
        looks += 1;
        return { ...(await fs.stat(path)), mtimeMs: looks >= atLook ? 2 : 1 };
      },
    };
    return lockSpool(directory, { fs: watched as unknown as FileSystem, heartbeatMs: 1 }).catch((error) => error);
  }

  it.each([2, 3, 4, 5])('is held if one of the four heartbeats comes: look %i', async (look) => {
    expect(await takenWhileBeating(look)).toBeInstanceOf(SpoolLockedError);
  });

  it('is taken once four heartbeats were missed', async () => {
    const release = await takenWhileBeating(6);
    expect(release).toBeTypeOf('function');
    await (release as () => Promise<void>)();
  });

  it('shows that it lives by a heartbeat', async () => {
    const release = await lock();
    const path = join(directory, '.lock');
    const { mtimeMs } = await fs.stat(path);
    await vi.waitFor(async () => expect((await fs.stat(path)).mtimeMs).toBeGreaterThan(mtimeMs));
    await release();
  });

  it('of another process is not released by the one that lost it', async () => {
    const release = await lock();
    held('of another process');
    await release();
    expect(readFileSync(join(directory, '.lock'), 'utf8')).toBe('of another process');
  });

  it('is released without an error if it is gone, or cannot be removed', async () => {
    const gone = await lock();
    rmSync(join(directory, '.lock'));
    await gone();
    const stuck = await lockSpool(directory, {
      fs: faultyFs((_, name) => (name === 'unlink' ? errno('EIO') : undefined)),
    });
    await stuck();
  });

  it('is not taken, and nothing loops, if an abandoned one cannot be moved away', async () => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
    const broken = faultyFs((_, name) => (name === 'rename' ? errno('EIO') : undefined));
    await expect(lockSpool(directory, { fs: broken })).rejects.toThrow('EIO');
    expect(readdirSync(directory)).toEqual(['.lock']);
  });

  it('is taken though a claim of a living process stayed, or one without a text', async () => {
    held('');
    await failToTakeOver(JSON.stringify({ ...ownIdentity(), token: 'stuck' }));
    await failToTakeOver('');
    await (await lock())();
  });

  it('stays with a process that has created it anew, and has not written its text yet', async () => {
    held('');
    const late: FileSystem = {
      ...fs,
      open: async (path, ...rest) => {
        if (path !== join(directory, '.lock')) utimesSync(join(directory, '.lock'), 1, 1);
        else if (statSync(path).mtimeMs === 1_000) held(JSON.stringify({ ...ownIdentity(), token: 'faster' }));
        return fs.open(path, ...rest);
      },
    };
    await expect(lockSpool(directory, { fs: late, heartbeatMs: 5 })).rejects.toThrow(
      `is locked by pid ${process.pid} on`,
    );
  });

  it('is taken by a rename that fails although it takes effect', async () => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
    const unanswered: FileSystem = {
      ...fs,
      rename: async (from, to) => {
        await fs.rename(from, to);
        throw errno('EIO');
      },
    };
    const release = await lockSpool(directory, { fs: unanswered });
    await expect(lock()).rejects.toThrow(SpoolLockedError);
    await release();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('that leads nowhere is named, and nothing loops', async () => {
    await fs.symlink(join(directory, 'nowhere'), join(directory, '.lock'));
    await expect(lock()).rejects.toThrow(`${join(directory, '.lock')} can be neither taken nor read: remove it`);
  });

  it.each(['stat', 'readFile'])('is not taken if %s fails', async (call) => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
    const broken = faultyFs((_, name) => (name === call ? errno('EIO') : undefined));
    await expect(lockSpool(directory, { fs: broken })).rejects.toThrow('EIO');
  });

  it('is not taken when writing fails for another reason, and leaves no file', async () => {
    const broken = faultyFs((_, name) => (name === 'file.writeFile' ? errno('EIO') : undefined));
    await expect(lockSpool(directory, { fs: broken })).rejects.toThrow('EIO');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('goes to one process when several find it abandoned, in whatever order their calls take effect', async () => {
    const inOrder = async (choices: Iterator<number>): Promise<void> => {
      held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
      const waiting: (() => void)[] = [];
      const inTurn = <A extends unknown[], R>(call: (...args: A) => R) => {
        return async (...args: A): Promise<R> => {
          await new Promise<void>((resolve) => waiting.push(resolve));
          return call(...args);
        };
      };
      const turns = {
        open: inTurn((path: string, flags: string) => {
          const file = openSync(path, flags);
          return { writeFile: inTurn((text: string) => writeFileSync(file, text)), close: async () => closeSync(file) };
        }),
        mkdir: async () => undefined,
        utimes: async () => {},
        readFile: inTurn(readFileSync),
        stat: inTurn(statSync),
        rename: inTurn(renameSync),
        unlink: inTurn(unlinkSync),
      } as unknown as FileSystem;
      const inOneOrder = async <T>(calls: Promise<T>): Promise<T> => {
        let ended = false;
        void calls.finally(() => {
          ended = true;
        });
        while (!ended) {
          waiting.splice(choices.next().value % waiting.length || 0, 1)[0]?.();
          await new Promise((resolve) => setImmediate(resolve));
        }
        return calls;
      };
      const lockInTurn = () => lockSpool(directory, { fs: turns, heartbeatMs: 1 });
      const all = await inOneOrder(Promise.allSettled([lockInTurn(), lockInTurn(), lockInTurn()]));
      const refused = all.filter((one) => one.status === 'rejected');
      expect(refused).toHaveLength(2);
      for (const { reason } of refused) expect(reason).toBeInstanceOf(SpoolLockedError);
      for (const one of all) if (one.status === 'fulfilled') await inOneOrder(one.value());
      expect(readdirSync(directory)).toEqual([]);
    };
    await fc.assert(fc.asyncProperty(fc.infiniteStream(fc.nat(11)), inOrder), { numRuns: 300 });
  });
});

it('of two flushes at once one works, the other names it, and nothing is sent twice', async () => {
  const world = await startWorld();
  await world.api.stop();
  await world.client().sendBatch(Array.from({ length: 30 }, (_, n) => notification(n)));
  await world.api.start();
  const both = await Promise.allSettled([world.client().flush(), world.client().flush()]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(world.api.asked).toHaveLength(1);
  expect(world.api.accepted).toHaveLength(30);
  await world.end();
});
