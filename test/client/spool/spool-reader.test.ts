import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import { describeGivenUp } from '../../../src/client/spool/flush.ts';
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

it('the name of a new file begins with the time of its first attempt, and no two are the same', async () => {
  const spool = world.spool();
  const names = await Promise.all([1, 2].map(() => spool.add([], new Date('2026-11-21T09:00:00.123Z'), 'no answer')));
  for (const name of names) expect(name).toMatch(/^20261121T090000123Z-[0-9a-f]{12}\.spool$/);
  expect(new Set(names).size).toBe(2);
});

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
  for (const [text, fault] of [
    [undefined, undefined],
    ['hello\n', new CorruptFileError('it does not begin as a spool file')],
    ['{"version":3}\n', new UnreadableFileError('it has version 3: a newer client wrote it')],
  ] as const) {
    if (text !== undefined) writeFileSync(join(folder('spool'), file), text);
    const calls: string[] = [];
    const watched = faultyFs((_, name) => void calls.push(name));
    const listed = await world.spool({}, watched).head('spool', file);
    expect(calls).toEqual(['open', 'file.read', 'file.close']);
    expect('fault' in listed ? listed.fault : undefined).toEqual(fault);
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
  expect(await world.spool({}, { ...fs, open }).list('spool')).toEqual([
    { folder: 'spool', file, header: expect.objectContaining({ notifications: 1 }) },
    {
      folder: 'spool',
      file: '1-denied.spool',
      fault: expect.objectContaining({ name: 'UnreadableFileError', message: 'it cannot be read (EACCES)' }),
    },
  ]);
});

it.each(['as they are', 'the other way round'])(
  'files are in the order of their first attempts, whatever a folder says first, and those without one follow: %s',
  async (order) => {
    const file = await spooled();
    const spool = world.spool();
    const { header, payload } = await spool.read('spool', file);
    const at = (day: number) => ({ ...header, firstAttempt: `2026-11-0${day}T09:00:00.000Z` });
    await spool.remove('spool', file);
    await spool.write('spool', 'c.spool', { header: at(1), payload });
    await spool.write('spool', 'a.spool', { header: at(2), payload });
    await spool.write('spool', 'b.spool', { header: at(2), payload });
    for (const name of ['0.spool', '1.spool']) writeFileSync(join(folder('spool'), name), '');
    const readdir = async (...given: Parameters<FileSystem['readdir']>) => {
      const entries = (await fs.readdir(...given)) as unknown as { name: string }[];
      const sorted = entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      return order === 'as they are' ? sorted : sorted.reverse();
    };
    const listed = await world.spool({}, { ...fs, readdir: readdir as unknown as FileSystem['readdir'] }).list('spool');
    expect(listed.map((one) => one.file)).toEqual(['c.spool', 'a.spool', 'b.spool', '0.spool', '1.spool']);
  },
);

it('of a file that is in both folders the copy in data/failed goes, if the other one is whole', async () => {
  const file = await spooled();
  const spool = world.spool();
  const whole = await spool.read('spool', file);
  await spool.write('failed', file, whole);
  await spool.write('failed', 'only-failed.spool', whole);
  expect(await spool.recover()).toEqual({ unreported: [], faults: [] });
  expect([world.files('spool'), world.files('failed')]).toEqual([[file], ['only-failed.spool']]);
  await spool.write('failed', file, whole);
  writeFileSync(join(folder('spool'), file), 'cut off');
  expect(await spool.recover()).toEqual({ unreported: [], faults: [] });
  expect(world.files('failed')).toContain(file);
});

it('a draft in data/failed is a copy, and goes with its writer', async () => {
  const file = await spooled();
  const spool = world.spool();
  await spool.write('failed', 'x.spool', await spool.read('spool', file));
  const draft = `.draft-1-1-ffffffff-01234567-${file}`;
  renameSync(join(folder('failed'), 'x.spool'), join(folder('failed'), draft));
  utimesSync(join(folder('failed'), draft), new Date(0), new Date(0));
  await spool.remove('spool', file);
  expect(await spool.recover()).toEqual({ unreported: [], faults: [] });
  expect(readdirSync(folder('failed'))).toEqual([]);
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
