import { createHash } from 'node:crypto';
import { readdirSync, renameSync, rmSync, truncateSync, utimesSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import { ownIdentity } from '../../../src/processes/process-identity.ts';
import { errno } from '../../support/client/faulty-fs.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const here = createHash('sha256').update(ownIdentity().scope).digest('hex').slice(0, 8);
const directory = () => join(world.directory, 'data', 'spool');

/** Leaves a draft like a writer that was killed just before it renamed the file. */
async function draft(pid: number, started: string, scope = here): Promise<string> {
  await world.api.stop();
  await world.client().send(notification(1));
  await world.api.start();
  const [file] = world.files('spool');
  const name = `.draft-${pid}-${started}-${scope}-0123abcd-${file}`;
  renameSync(join(directory(), String(file)), join(directory(), name));
  return join(directory(), name);
}

async function spoolAnother(): Promise<void> {
  await world.api.stop();
  await world.client().send(notification(2));
  await world.api.start();
}

/** A file system on which one call fails for one path, like a file or folder of another user. */
function refusing(call: 'readFile' | 'rename' | 'stat' | 'readdir', path: string): FileSystem {
  const own: FileSystem = { ...fs };
  const allowed = own[call];
  const guarded = async (given: unknown, ...rest: unknown[]) => {
    if (given === path) throw errno('EACCES');
    return Reflect.apply(allowed, own, [given, ...rest]);
  };
  return { ...own, [call]: guarded };
}

describe('what a killed writer left behind', () => {
  it('is handed over if it is complete', async () => {
    await draft(process.pid, '1');
    expect(await world.client().flush()).toMatchObject({ accepted: 1, givenUp: [] });
    expect(readdirSync(directory())).toEqual([]);
  });

  it('is removed if it is incomplete, as it was never reported as safe', async () => {
    truncateSync(await draft(process.pid, '1'), 100);
    expect(await world.client().flush()).toMatchObject({ accepted: 0, givenUp: [], skipped: [] });
    expect(readdirSync(directory())).toEqual([]);
  });

  it.each(['readFile', 'rename', 'stat'] as const)(
    'is named if it cannot be finished (%s), and the flush goes on',
    async (call) => {
      const stuck = await draft(process.pid, '1', call === 'stat' ? 'ffffffff' : here);
      await spoolAnother();
      expect(await world.client({}, refusing(call, stuck)).flush()).toMatchObject({
        accepted: 1,
        skipped: [{ file: basename(stuck), because: expect.stringContaining('EACCES') }],
      });
      expect(readdirSync(directory())).toEqual([basename(stuck)]);
    },
  );

  it('does no harm if another flush finishes it at the same time', async () => {
    const path = await draft(process.pid, '1');
    const late: FileSystem = {
      ...fs,
      rename: async (from, to) => {
        rmSync(path);
        await fs.rename(from, to);
      },
    };
    expect(await world.client({}, late).flush()).toMatchObject({ accepted: 0, skipped: [] });
  });

  it('in a data/failed that cannot be read holds up nothing, and the folder is named', async () => {
    await spoolAnother();
    const failed = join(world.directory, 'data', 'failed');
    expect(await world.client({}, refusing('readdir', failed)).flush()).toMatchObject({
      accepted: 1,
      skipped: [{ file: failed, because: expect.stringContaining('EACCES') }],
    });
  });

  it('is left alone while its writer runs', async () => {
    const { pid, started } = ownIdentity();
    const path = await draft(pid, started);
    await world.client().flush();
    expect(readdirSync(directory())).toEqual([path.split('/').at(-1)]);
  });

  it('is left alone for an hour if its writer is on another host', async () => {
    const path = await draft(1, '1', 'ffffffff');
    utimesSync(path, world.now, world.now);
    world.now = new Date(world.now.getTime() + 3_599_000);
    expect(await world.client().flush()).toMatchObject({ accepted: 0 });
    world.now = new Date(world.now.getTime() + 2_000);
    expect(await world.client().flush()).toMatchObject({ accepted: 1 });
  });
});
