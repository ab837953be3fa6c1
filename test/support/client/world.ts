import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import * as realFs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type NotificationClient } from '../../../src/client/client.ts';
import { createApi } from '../../../src/client/handover/api.ts';
import { createRequest, createTokenCall } from '../../../src/client/handover/api-request.ts';
import type { Item } from '../../../src/client/handover/item.ts';
import type { Notification } from '../../../src/client/handover/notification.ts';
import { type ClientOptions, settingsOf } from '../../../src/client/settings.ts';
import type { FileSystem } from '../../../src/client/spool/durable-files.ts';
import type { GivenUp } from '../../../src/client/spool/flush.ts';
import { createSpool, type Spool } from '../../../src/client/spool/spool.ts';
import type { Folder } from '../../../src/client/spool/spool-names.ts';
import { ApiStandIn } from './api-stand-in.ts';

/** A client with its API, its directories and a clock that the test moves. Its pauses take no time. */
export interface World {
  readonly api: ApiStandIn;
  readonly directory: string;
  readonly reported: GivenUp[];
  readonly waited: number[];
  now: Date;
  client(options?: ClientOptions, fs?: FileSystem): NotificationClient;
  spool(options?: ClientOptions, fs?: FileSystem): Spool;
  files(folder: Folder): string[];
  /** The items of all complete files of a folder. */
  items(folder: Folder): Promise<Item[]>;
  /** Removes the lock of a dead process, because the process that plays its part lives on. */
  forgetLock(): void;
  end(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'spool-'));
  const api = new ApiStandIn();
  await api.start();
  const settings = (options: ClientOptions = {}) =>
    settingsOf(
      {
        url: api.url,
        apiKey: api.apiKey,
        spoolDirectory: join(directory, 'data', 'spool'),
        onGivenUp: (given) => void world.reported.push(given),
        ...options,
      },
      {},
    );
  const clock = () => world.now;
  const spoolOf = (options?: ClientOptions, fs: FileSystem = realFs) => {
    const { spoolDirectory, failedDirectory, keys } = settings(options);
    return createSpool({ fs, clock, directory: spoolDirectory, failedDirectory, keys });
  };
  const world: World = {
    api,
    directory,
    reported: [],
    waited: [],
    now: new Date('2026-11-21T09:00:00.000Z'),
    client: (options = {}, fs = realFs) =>
      createClient(settings(options), {
        post: createApi({ ...settings(options), clock }),
        createToken: createTokenCall(createRequest({ ...settings(options), clock })),
        spool: spoolOf(options, fs),
        fs,
        clock,
        random: () => 0.5,
        attempts: 3,
        longestWaitMs: 30_000,
        pause: async (ms) => void world.waited.push(ms),
      }),
    spool: spoolOf,
    files(folder) {
      try {
        return readdirSync(join(directory, 'data', folder))
          .filter((name) => !name.startsWith('.'))
          .sort();
      } catch {
        return [];
      }
    },
    async items(folder) {
      const spool = spoolOf();
      const names = world.files(folder).filter((name) => name.endsWith('.spool'));
      return (await Promise.all(names.map(async (name) => spool.open(await spool.read(folder, name))))).flat();
    },
    forgetLock: () => rmSync(join(directory, 'data', 'spool', '.lock'), { force: true }),
    async end() {
      await api.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return world;
}

export function notification(n: number | string, more: Partial<Notification> = {}): Notification {
  return {
    channel: 'email',
    recipient: `someone-${n}@example.com`,
    body: `Text ${n}`,
    notification_id: `N${n}`,
    ...more,
  };
}
