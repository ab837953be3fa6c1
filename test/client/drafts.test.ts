import { createHash } from 'node:crypto';
import { readdirSync, renameSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownIdentity } from '../../src/client/process-identity.ts';
import { notification, startWorld, type World } from './world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const here = createHash('sha256').update(ownIdentity().scope).digest('hex').slice(0, 8);
const directory = () => join(world.directory, 'data', 'spool');

/** A spool file as a writer leaves it that was killed just before it gave the file its name. */
async function draft(pid: number, started: string, scope = here): Promise<string> {
  await world.api.stop();
  await world.client().send(notification(1));
  await world.api.start();
  const [file] = world.files('spool');
  const name = `.draft-${pid}-${started}-${scope}-0123abcd-${file}`;
  renameSync(join(directory(), String(file)), join(directory(), name));
  return join(directory(), name);
}

describe('what a killed writer left behind', () => {
  it('is handed over when it is whole', async () => {
    await draft(process.pid, '1');
    expect(await world.client().flush()).toMatchObject({ accepted: 1, givenUp: [] });
    expect(readdirSync(directory())).toEqual([]);
  });

  it('is removed when it is half: nobody was told that it is safe', async () => {
    truncateSync(await draft(process.pid, '1'), 100);
    expect(await world.client().flush()).toMatchObject({ accepted: 0, givenUp: [], skipped: [] });
    expect(readdirSync(directory())).toEqual([]);
  });

  it('is left alone while its writer lives', async () => {
    const { pid, started } = ownIdentity();
    const path = await draft(pid, started);
    await world.client().flush();
    expect(readdirSync(directory())).toEqual([path.split('/').at(-1)]);
  });

  it('of another host, it is left alone for an hour', async () => {
    const path = await draft(1, '1', 'ffffffff');
    utimesSync(path, world.now, world.now);
    world.now = new Date(world.now.getTime() + 3_599_000);
    expect(await world.client().flush()).toMatchObject({ accepted: 0 });
    world.now = new Date(world.now.getTime() + 2_000);
    expect(await world.client().flush()).toMatchObject({ accepted: 1 });
  });
});
