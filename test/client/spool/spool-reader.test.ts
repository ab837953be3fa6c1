import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import { describeGivenUp } from '../../../src/client/spool/given-up.ts';
import { CorruptFileError, UnreadableFileError } from '../../../src/client/spool/spool-file.ts';
import { errno, faultyFs } from '../../support/client/faulty-fs.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const folder = (name: string) => join(world.directory, 'data', name);

async function spooled(): Promise<string> {
  await world.api.stop();
  await world.client().send(notification(1));
  return String(world.files('spool').at(-1));
}

it('the first line of a file that is none of the spool’s is not read', async () => {
  const spool = world.spool();
  expect(await spool.head('failed', 'notes.txt')).toEqual({
    folder: 'failed',
    file: 'notes.txt',
    fault: new UnreadableFileError('its name does not end in .spool or .corrupt, so it is not a file of the spool'),
  });
  expect(await spool.head('failed', 'a.spool.01234567.corrupt')).toEqual({
    folder: 'failed',
    file: 'a.spool.01234567.corrupt',
    fault: new CorruptFileError('it was set aside'),
  });
  await expect(spool.read('failed', 'notes.txt')).rejects.toThrow('its name does not end in .spool or .corrupt');
});

it('a file is closed after its first line is read, also when that is none', async () => {
  const file = await spooled();
  for (const text of [undefined, 'hello\n']) {
    if (text !== undefined) writeFileSync(join(folder('spool'), file), text);
    const calls: string[] = [];
    const watched = faultyFs((_, name) => void calls.push(name));
    await world.spool({}, watched).head('spool', file);
    expect(calls).toEqual(['open', 'file.read', 'file.close']);
  }
});

it('a file that goes while the folder is listed is left out; one that cannot be read is named, behind the others', async () => {
  const file = await spooled();
  for (const name of ['0-gone.spool', '1-denied.spool']) writeFileSync(join(folder('spool'), name), '');
  const open: FileSystem['open'] = async (path, ...rest) => {
    if (String(path).endsWith('0-gone.spool')) rmSync(path as string);
    if (String(path).endsWith('1-denied.spool')) throw errno('EACCES');
    return fs.open(path, ...rest);
  };
  const listed = await world.spool({}, { ...fs, open }).list('spool');
  expect(listed).toEqual([
    { folder: 'spool', file, header: expect.objectContaining({ notifications: 1 }) },
    {
      folder: 'spool',
      file: '1-denied.spool',
      fault: expect.objectContaining({ name: 'UnreadableFileError', message: 'it cannot be read (EACCES)' }),
    },
  ]);
});

it('a file in data/failed whose first line names no reason had too many retries, as far as anybody knows', async () => {
  const file = await spooled();
  const spool = world.spool();
  const { header, payload } = await spool.read('spool', file);
  mkdirSync(folder('failed'), { recursive: true });
  await spool.write('failed', file, { header, payload });
  expect(await describeGivenUp(spool, file)).toEqual({
    file,
    because: 'too-many-retries',
    notifications: 1,
    firstAttempt: header.firstAttempt,
    reason: header.lastError.reason,
  });
});
