import { afterEach, beforeEach, expect, it } from 'vitest';
import { NotHandedOverError } from '../../../src/client/hand-over-or-spool.ts';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import { problem } from '../../support/client/api-stand-in.ts';
import { Died } from '../../support/client/faulty-fs.ts';
import { type Room, smallDisk } from '../../support/client/small-disk.ts';
import { notification, startWorld, type World } from '../../support/client/world.ts';

/** `FULL` is for whoever changes the spool: 10,000 notifications take minutes. */
const NOTIFICATIONS = process.env['FULL'] === undefined ? 1_000 : 10_000;
const SEED = Number(process.env['SEED'] ?? 7);
const PLENTY = 1e9;

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

/** The same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A process that dies at one of its calls: none of the later ones has an effect. */
function mortal(disk: FileSystem, calls: number): FileSystem {
  let left = calls;
  const guarded = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        const method: unknown = Reflect.get(of, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          const isDead = left-- <= 0;
          // A real death closes its files, too.
          if (isDead && name === 'close') await method.apply(of, args);
          if (isDead) throw new Died();
          const result: unknown = await method.apply(of, args);
          return name === 'open' ? guarded(result as object) : result;
        };
      },
    });
  return guarded(disk);
}

it(`${NOTIFICATIONS} notifications through kills, full and broken disks, silence and a firewall: each arrives once`, async () => {
  const random = randomOf(SEED);
  const below = (most: number) => Math.floor(random() * most);
  const seen = { kills: 0, ENOSPC: 0, EIO: 0, silent: 0, blocked: 0, lost: 0 };
  const onError = (code: string) => {
    seen[code === 'EIO' ? 'EIO' : 'ENOSPC'] += 1;
  };
  const room: Room = { bytes: PLENTY, inodes: PLENTY, onError };
  const disk = smallDisk(room);
  const all = Array.from({ length: NOTIFICATIONS }, (_, n) => notification(n));
  // One in 300 has a body that the firewall takes for an attack, until it is taught otherwise.
  const isBlocked = ({ notification_id = '' }) => Number(notification_id.slice(1)) % 300 === 37;
  let stalled = 0;

  const weather = () => {
    Object.assign(room, { bytes: PLENTY, inodes: PLENTY, broken: undefined });
    const disks: Partial<Room>[] = [
      {},
      { bytes: below(6_000) },
      { inodes: below(3) },
      { broken: () => random() < 0.05 },
    ];
    Object.assign(room, disks[below(disks.length)]);
    const mode = below(6);
    world.api.losesAnswer = () => random() < 0.05;
    world.api.instead = ({ body }) => {
      const items = (body['notifications'] ?? [body]) as { notification_id?: string }[];
      if (items.some(isBlocked)) {
        seen.blocked += 1;
        return { status: 403, body: 'Request blocked' };
      }
      if (mode === 0) {
        stalled += 1;
        seen.silent += 1;
        return 'stall';
      }
      if (mode === 1) return { status: 503 };
      return mode === 2 && random() < 0.5 ? problem('rate-limited', 429) : undefined;
    };
  };

  /** What a process does until it dies, fails or ends. */
  const live = async (work: (client: ReturnType<World['client']>) => Promise<void>): Promise<void> => {
    const calls = random() < 0.4 ? below(120) : PLENTY;
    const options = { timeoutMs: 40, maxSpoolRetries: 10_000, concurrency: 1 };
    try {
      await work(world.client(options, mortal(disk, calls)));
    } catch (error) {
      const { cause = error } = error as { readonly cause?: unknown };
      if (!(cause instanceof Died) && !['EIO', 'ENOSPC'].includes(String((cause as NodeJS.ErrnoException).code)))
        throw error;
      if (cause instanceof Died) seen.kills += 1;
    } finally {
      await disk.unlink(`${world.directory}/data/spool/.lock`).catch(() => {});
      world.now = new Date(world.now.getTime() + 1_000);
    }
  };

  const flush = async () => {
    stalled = 0;
    await live(async (client) => {
      const report = await client.flush();
      expect(report.givenUp).toEqual([]);
      expect(report.refused).toBe(0);
    });
    // Three attempts of the first file, ten smaller ones, and a few more: with ten seconds each, three minutes.
    expect(stalled).toBeLessThanOrEqual(20);
  };

  for (let start = 0; start < all.length; start += 20) {
    let rest = all.slice(start, start + 20);
    while (rest.length > 0) {
      weather();
      await live(async (client) => {
        try {
          const results = await client.sendBatch(rest);
          expect(results.every(({ state }) => state !== 'refused')).toBe(true);
          rest = [];
        } catch (error) {
          if (!(error instanceof NotHandedOverError) || error.cause instanceof Died) throw error;
          seen.lost += error.notifications.length;
          // The producer still has them, and sends them again later.
          rest = error.notifications.filter((one) => typeof one !== 'string');
        }
      });
    }
    if (random() < 0.5) {
      weather();
      await flush();
    }
  }

  Object.assign(room, { bytes: PLENTY, inodes: PLENTY, broken: undefined });
  world.api.losesAnswer = () => false;
  world.api.instead = () => undefined;
  expect(await world.client({ maxSpoolRetries: 10_000 }).flush()).toMatchObject({
    left: 0,
    refused: 0,
    givenUp: [],
    skipped: [],
  });
  const delivered = await world.api.delivered();
  expect(delivered).toHaveLength(NOTIFICATIONS);
  expect(new Set(delivered).size).toBe(NOTIFICATIONS);
  expect(world.files('failed')).toEqual([]);
  for (const [what, times] of Object.entries(seen)) expect([what, times > 0]).toEqual([what, true]);
}, 600_000);
