import { existsSync, readFileSync, rmSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findFile, type SpoolSession } from '../../../src/client/spool/commands/session.ts';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import { lockSpool } from '../../../src/client/spool/spool-lock.ts';
import { problem } from '../../support/client/api-stand-in.ts';
import { type Room, smallDisk } from '../../support/client/small-disk.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

const many = (count: number, from = 0) => Array.from({ length: count }, (_, i) => notification(from + i));
const itemsOf = ({ body }: { readonly body: Record<string, unknown> }) =>
  (body['notifications'] ?? [body]) as { readonly notification_id: string }[];
const lockPath = () => join(world.directory, 'data', 'spool', '.lock');

/** Spools files of this many notifications each while the API does not answer. */
async function spooled(files: number, each: number, options = {}): Promise<void> {
  await world.api.stop();
  for (let n = 0; n < files; n++) {
    await world.client(options).sendBatch(many(each, n * each));
    world.now = new Date(world.now.getTime() + 1_000);
  }
  await world.api.start();
  world.waited.length = 0;
}

describe('a full disk', () => {
  it.each([
    ['blocks', { bytes: 0, inodes: 100 }],
    ['inodes', { bytes: 1_000_000, inodes: 0 }],
  ])('without %s is emptied by a flush', async (_, left) => {
    const room: Room = { bytes: 1_000_000, inodes: 100 };
    const disk = smallDisk(room);
    await world.api.stop();
    for (let n = 0; n < 3; n++) await world.client({}, disk).sendBatch(many(100, n * 100));
    await world.api.start();
    Object.assign(room, left);
    expect(await world.client({}, disk).flush()).toMatchObject({ accepted: 300, left: 0, skipped: [] });
    expect(world.files('spool')).toEqual([]);
    expect(existsSync(lockPath())).toBe(false);
  });

  it('without inodes still shows the lock of another process', async () => {
    await spooled(1, 1);
    const room: Room = { bytes: 1_000_000, inodes: 1 };
    const release = await lockSpool(join(world.directory, 'data', 'spool'), { fs: smallDisk(room) });
    expect(room.inodes).toBe(0);
    await expect(world.client({}, smallDisk(room)).flush()).rejects.toThrow(/is locked by pid/);
    await release();
  });
});

describe('a flush beside another one, as without room for a lock', () => {
  it('does not report what the other has handed over', async () => {
    await spooled(3, 60);
    const [, , last = ''] = world.files('spool');
    world.api.instead = () => {
      rmSync(join(world.directory, 'data', 'spool', last), { force: true });
      return undefined;
    };
    expect(await world.client().flush()).toMatchObject({ accepted: 120, left: 0, skipped: [] });
  });

  it('hands each over once, and leaves nothing', async () => {
    await spooled(9, 60);
    const room: Room = { bytes: 1_000_000, inodes: 0 };
    const flushes = Array.from({ length: 3 }, () => world.client({}, smallDisk(room)).flush());
    for (const report of await Promise.all(flushes))
      expect(report).toMatchObject({ refused: 0, givenUp: [], skipped: [] });
    expect(world.files('spool')).toEqual([]);
    expect(new Set(await world.api.delivered()).size).toBe(540);
    expect(await world.api.delivered()).toHaveLength(540);
  });
});

describe('an API that accepts connections and never answers', () => {
  it('ends the flush after some requests in a row, and counts no failure of what was not attempted', async () => {
    await spooled(12, 60);
    world.api.instead = () => 'stall';
    expect(await world.client({ timeoutMs: 50 }).flush()).toMatchObject({ accepted: 0, left: 720 });
    expect(world.api.asked.length).toBeLessThanOrEqual(16);
    const counts = (await world.spool().list('spool')).map(({ header }) => header?.retryCount);
    expect(counts.filter((count) => count === 0).length).toBeGreaterThanOrEqual(9);
    world.api.instead = () => undefined;
    expect(await world.client().flush()).toMatchObject({ accepted: 720, left: 0 });
  });

  it('ends the attempts of a mailing, which is spooled at once then', async () => {
    world.api.instead = () => 'stall';
    const results = await world.client({ timeoutMs: 50, concurrency: 1 }).sendBatch(many(2_000));
    expect(results.every(({ state }) => state === 'spooled')).toBe(true);
    // A request that timed out before it was connected is not among them.
    expect(world.api.asked.length).toBeLessThanOrEqual(5);
  });

  it('does not end it if an answer comes in between', async () => {
    await spooled(12, 60);
    let requests = 0;
    world.api.instead = () => (++requests % 2 === 0 ? undefined : 'stall');
    // Long enough for the answers in between on a busy machine.
    expect(await world.client({ timeoutMs: 250 }).flush()).toMatchObject({ left: 0, accepted: 720 });
  });

  it('is the same as one that fails slowly', async () => {
    await spooled(12, 60);
    world.api.instead = () => {
      world.now = new Date(world.now.getTime() + 9_000);
      return { status: 502 };
    };
    expect(await world.client().flush()).toMatchObject({ accepted: 0, left: 720 });
    expect(world.api.asked.length).toBeLessThanOrEqual(16);
  });
});

describe('what stands in front of the API', () => {
  const firewall = (status: number, ...ids: string[]) => {
    world.api.instead = (asked) =>
      itemsOf(asked).some(({ notification_id }) => ids.includes(notification_id))
        ? { status, headers: { 'content-type': 'text/html' }, body: '<h1>Request blocked</h1>' }
        : undefined;
  };

  it.each([403, 406, 451])('and refuses one of a hundred (%i) does not hold the others', async (status) => {
    await spooled(1, 100);
    firewall(status, 'N37');
    expect(await world.client().flush()).toMatchObject({ accepted: 99, refused: 0, left: 1 });
    const [left] = await world.items('spool');
    expect(left?.body).toMatchObject({ notification_id: 'N37' });
  });

  it.each([403, 400, 421])('and refuses what is sent (%i) has it spooled, not lost', async (status) => {
    firewall(status, 'N1');
    expect(await world.client().send(notification(1))).toMatchObject({ state: 'spooled', reason: `status ${status}` });
    expect(await world.items('spool')).toHaveLength(1);
  });

  it('and refuses everything costs ten more requests once, not for each file', async () => {
    await spooled(20, 60);
    world.api.instead = () => ({ status: 403, body: { message: 'Forbidden' } });
    expect(await world.client().flush()).toMatchObject({ accepted: 0, left: 1_200 });
    expect(world.api.asked.length).toBeLessThanOrEqual(20 + 10);
  });

  it('is not asked in halves where the API itself says that the key may not', async () => {
    await spooled(1, 60);
    world.api.instead = () => problem('forbidden', 403);
    expect(await world.client().flush()).toMatchObject({ accepted: 0, left: 60 });
    expect(world.api.asked).toHaveLength(1);
  });

  it('cannot write into the first line of an encrypted file', async () => {
    const spoolKey = Buffer.alloc(32, 1).toString('base64');
    const secret = 'someone@example.com '.repeat(500);
    world.api.instead = () => ({
      status: 401,
      body: { type: `urn:notification-retry:problem:${secret}`, title: secret },
    });
    await world.client({ spoolKey }).send(notification(1));
    const [file = ''] = world.files('spool');
    const [line = ''] = readFileSync(join(world.directory, 'data', 'spool', file), 'utf8').split('\n');
    expect(line).not.toContain('someone@');
    expect(line.length).toBeLessThan(1_000);
    const [listed] = await world.spool({ spoolKey }).list('spool');
    expect(listed?.header).toMatchObject({ notifications: 1, lastError: { reason: 'status 401' } });
  });
});

it('a first line of many reasons stays short, whatever a hundred answers call themselves', async () => {
  await spooled(1, 100);
  world.api.insteadOfItem = ({ notification_id = '' }) => {
    const letters = notification_id
      .replaceAll(/\D/g, '')
      .replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));
    return problem(`${'x'.repeat(50)}-${letters}`, 400);
  };
  expect(await world.client().flush()).toMatchObject({ refused: 100, left: 0 });
  const [file = ''] = world.files('failed');
  const [line = ''] = readFileSync(join(world.directory, 'data', 'failed', file), 'utf8').split('\n');
  expect(line.length).toBeLessThan(1_000);
  expect((await world.spool().list('failed'))[0]?.header).toMatchObject({ notifications: 100 });
});

describe('a file that is looked for by its name', () => {
  it('is found so by the commands, too: two hundred names among thousands of files took a minute', async () => {
    await spooled(1, 1);
    const [file = ''] = world.files('spool');
    const list = () => Promise.reject(new Error('listed'));
    const session = { spool: { ...world.spool(), list }, command: 'spool' } as unknown as SpoolSession;
    expect(await findFile(session, `somewhere/${file}`)).toMatchObject({ folder: 'spool', file });
    await expect(findFile(session, 'nothing.spool')).rejects.toThrow(/There is no file nothing\.spool/);
  });

  it('is found without a list of either folder', async () => {
    await spooled(2, 1);
    const [file = ''] = world.files('spool');
    const readdir = () => Promise.reject(new Error('listed'));
    const spool = world.spool({}, { ...fs, readdir: readdir as unknown as FileSystem['readdir'] });
    expect(await spool.find(file)).toMatchObject({ folder: 'spool', file, header: { notifications: 1 } });
    expect(await spool.find('nothing.spool')).toBeUndefined();
    expect(await spool.find('.lock')).toBeUndefined();
  });
});

it('many files of one notification go out a hundred per request, and each file keeps its own outcome', async () => {
  await world.api.stop();
  for (let n = 0; n < 250; n++) await world.client().sendBatch([notification(n)]);
  await world.api.start();
  world.api.insteadOfItem = ({ notification_id }) => {
    if (notification_id === 'N7') return problem('invalid-request', 400);
    return notification_id === 'N120' ? problem('unavailable', 503) : undefined;
  };
  expect(await world.client().flush()).toMatchObject({ accepted: 248, refused: 1, left: 1, skipped: [] });
  // Three requests, and two more for the one that is retried.
  expect(world.api.asked).toHaveLength(5);
  expect(await world.items('spool')).toMatchObject([{ body: { notification_id: 'N120' } }]);
  expect(await world.items('failed')).toMatchObject([{ body: { notification_id: 'N7' } }]);
  expect((await world.spool().list('spool'))[0]?.header).toMatchObject({ retryCount: 1 });
});
