import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spoolKey } from '../../../src/client/spool/seal.ts';
import { encode, type SpoolHeader } from '../../../src/client/spool/spool-file.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const key = Buffer.alloc(32, 1).toString('base64');
const other = Buffer.alloc(32, 2).toString('base64');
const withKey = { spoolKey: key };
const path = (file: string) => join(world.directory, 'data', 'spool', file);
const hours = (count: number) => {
  world.now = new Date(world.now.getTime() + count * 3_600_000);
};

async function spooled(options = {}, count = 1): Promise<string> {
  await world.api.stop();
  await world.client(options).sendBatch(Array.from({ length: count }, (_, n) => notification(n)));
  await world.api.start();
  return String(world.files('spool').at(-1));
}

/** Changes the first line and makes the checksum fit again, as anyone can who may write to the directory. */
async function forge(file: string, change: Partial<SpoolHeader>): Promise<void> {
  const { header, payload } = await world.spool(withKey).read('spool', file);
  writeFileSync(path(file), encode({ header: { ...header, ...change }, payload }));
}

describe('with a spool key, a file that is not encrypted', () => {
  const because = expect.stringMatching(/^it is not encrypted, but a spool key is configured/);

  it('is named, kept and never sent', async () => {
    const file = await spooled();
    const before = readFileSync(path(file), 'utf8');
    expect(await world.client(withKey).flush()).toMatchObject({ accepted: 0, left: 1, skipped: [{ file, because }] });
    expect(world.api.asked).toEqual([]);
    expect(readFileSync(path(file), 'utf8')).toBe(before);
  });

  it('is not sent by its operator either, and keeps its place when it is too old', async () => {
    const file = await spooled();
    hours(169);
    expect(await world.client(withKey).flush()).toMatchObject({ givenUp: [{ file, because: 'too-old' }] });
    expect(world.files('failed')).toEqual([file]);
    await expect(world.spool(withKey).resend(file)).rejects.toThrow('it is not encrypted');
    expect(world.files('failed')).toEqual([file]);
    expect(world.api.asked).toEqual([]);
  });

  it('goes out once it is flushed without the key, and the encrypted ones stay', async () => {
    await spooled();
    hours(1);
    const encrypted = await spooled(withKey);
    expect(await world.client().flush()).toMatchObject({ accepted: 1, left: 1 });
    expect(world.files('spool')).toEqual([encrypted]);
  });

  it('cannot be made of an encrypted one by removing the name of its key', async () => {
    const file = await spooled(withKey);
    const { header } = await world.spool(withKey).read('spool', file);
    const { keyId: _, ...rest } = header;
    writeFileSync(path(file), encode({ header: { ...rest, version: 1 }, payload: '[]' }));
    expect(await world.client(withKey).flush()).toMatchObject({ accepted: 0, skipped: [{ file, because }] });
  });
});

describe('the first line of an encrypted file', () => {
  it.each<[string, Partial<SpoolHeader>]>([
    ['another time of the first attempt', { firstAttempt: '2020-01-01T00:00:00.000Z' }],
    ['another count of retries', { retryCount: 9 }],
    ['another number of notifications', { notifications: 7 }],
    ['another last error', { lastError: { at: '2026-11-21T09:00:00.000Z', reason: 'call +1 555' } }],
    [
      'another time of the last error',
      { lastError: { at: '2020-01-01T00:00:00.000Z', reason: 'no answer (ECONNREFUSED)' } },
    ],
    ['the version of files that are not encrypted', { version: 1 }],
  ])('with %s makes the file corrupt: it is set aside and never sent', async (_, change) => {
    const file = await spooled(withKey);
    await forge(file, change);
    expect(await world.client(withKey).flush()).toMatchObject({ accepted: 0, givenUp: [{ file, because: 'corrupt' }] });
    expect(world.api.asked).toEqual([]);
    expect(world.files('failed')).toHaveLength(1);
  });

  it('fits again after each flush that changes it, and after a return from data/failed', async () => {
    const file = await spooled(withKey, 2);
    world.api.insteadOfItem = ({ notification_id }) => (notification_id === 'N1' ? { status: 503 } : undefined);
    expect(await world.client(withKey).flush()).toMatchObject({ accepted: 1, left: 1, skipped: [] });
    hours(169);
    expect(await world.client(withKey).flush()).toMatchObject({ left: 0, givenUp: [{ file, because: 'too-old' }] });
    world.api.insteadOfItem = () => undefined;
    await world.spool(withKey).resend(file);
    expect(await world.client(withKey).flush()).toMatchObject({ accepted: 1, left: 0, givenUp: [], skipped: [] });
  });

  it('is encrypted with the first key when an operator sends a file again', async () => {
    const file = await spooled(withKey);
    hours(169);
    await world.client(withKey).flush();
    await world.spool({ spoolKey: [other, key] }).resend(file);
    expect((await world.spool().head('spool', file)).header?.keyId).toBe(spoolKey(other).id);
    expect(await world.client({ spoolKey: other }).flush()).toMatchObject({ accepted: 1 });
  });

  it('needs its key before an operator can send the file again', async () => {
    const file = await spooled(withKey);
    hours(169);
    await world.client(withKey).flush();
    await expect(world.spool({ spoolKey: other }).resend(file)).rejects.toThrow(
      /encrypted with the key \w{8}, which is not/,
    );
    expect(world.files('failed')).toEqual([file]);
  });
});
