import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    ['--import', 'tsx', join(PROJECT_ROOT, 'test', 'support', 'client', 'lock-holder.ts'), directory],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  holders.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`the holder ended with ${code}`)));
  });
  return child;
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

  it('takes away what a process left that died while it moved an abandoned one, and nothing of a living holder', async () => {
    const leave = (name: string, text: string) => writeFileSync(join(directory, name), text);
    leave('.lock-of-a-dead-holder', JSON.stringify({ ...ownIdentity(), started: '1', token: 'dead' }));
    leave('.lock-moved-by-mistake', JSON.stringify({ ...ownIdentity(), token: 'alive' }));
    leave('.lock-unreadable', '{');
    await (await lock())();
    expect(readdirSync(directory).sort()).toEqual(['.lock-moved-by-mistake', '.lock-unreadable']);
  });

  it('is taken though the folder cannot be looked through', async () => {
    const blind = faultyFs((_, name) => (name === 'readdir' ? errno('EIO') : undefined));
    const release = await lockSpool(directory, { fs: blind, heartbeatMs: 20 });
    await expect(lock()).rejects.toThrow(SpoolLockedError);
    await release();
  });

  it('is put back when another process took it after it was found abandoned', async () => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 'dead' }));
    const faster = JSON.stringify({ ...ownIdentity(), token: 'faster' });
    const slow: FileSystem = {
      ...fs,
      rename: async (from, to) => {
        held(faster);
        await fs.rename(from, to);
      },
    };
    await expect(lockSpool(directory, { fs: slow, heartbeatMs: 20 })).rejects.toThrow(SpoolLockedError);
    expect(readFileSync(join(directory, '.lock'), 'utf8')).toBe(faster);
    expect(readdirSync(directory)).toEqual(['.lock']);
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

  it('is taken if another process moved the abandoned one away', async () => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
    const slow: FileSystem = {
      ...fs,
      rename: async (from, to) => {
        rmSync(join(directory, '.lock'), { force: true });
        await fs.rename(from, to);
      },
    };
    await (await lockSpool(directory, { fs: slow }))();
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

  it('goes to one process when many find it abandoned at the same moment', async () => {
    held(JSON.stringify({ ...ownIdentity(), started: '1', token: 't' }));
    const taken = await Promise.allSettled(Array.from({ length: 20 }, lock));
    const refused = taken.filter((one) => one.status === 'rejected');
    expect(refused).toHaveLength(19);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(SpoolLockedError);
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
