import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect } from 'vitest';
import { createNotificationClient } from '../../../src/client/index.ts';
import { PROJECT_ROOT } from '../project-root.ts';
import type { ProducerApi } from './producer-api.ts';

export interface Chaos {
  /** The directory of the producer, with only `producer.mjs` in it (`buildProducer`). */
  readonly directory: string;
  readonly notifications: number;
  /** Notifications that the producer reads at once. */
  readonly slice: number;
  /** The longest times that the API is up and down, in milliseconds, without the time of its start. */
  readonly upMs: number;
  readonly downMs: number;
  /** Longest life of the first producer process, in milliseconds. Each further process may live 1.5 times as long. */
  readonly killMs: number;
  /** The least number of kills and of outages. */
  readonly atLeast: number;
}

export interface Survived {
  /** Kills of the producer. */
  readonly kills: number;
  /** Outages of the API. */
  readonly outages: number;
}

/** Bundles the example producer as one file. */
export async function buildProducer(directory: string): Promise<void> {
  await build({
    entryPoints: [join(PROJECT_ROOT, 'examples', 'batch-951', 'main.ts')],
    outfile: join(directory, 'producer.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
  });
}

/** Sends all notifications despite kills and outages, and checks that each arrived once and that no file is left. */
export async function survive(api: ProducerApi, chaos: Chaos): Promise<Survived> {
  const { directory, notifications } = chaos;
  await api.start();
  const markers = Array.from({ length: notifications }, (_, n) => `chaos-${n}`);
  const lines = markers.map((id) => JSON.stringify({ id, ...api.notification(id) }));
  writeFileSync(join(directory, 'recipients.jsonl'), lines.join('\n'));
  writeFileSync(join(directory, 'message.json'), '{}');
  const outage = comeAndGo(api, chaos);
  let kills = 0;
  try {
    for (let done = false; !done; ) {
      const child = producer(api, chaos);
      const killer = setTimeout(() => child.kill('SIGKILL'), 100 + Math.random() * chaos.killMs * 1.5 ** kills);
      const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
        child.once('exit', (...ended) => resolve(ended));
      });
      clearTimeout(killer);
      if (signal === 'SIGKILL') kills++;
      else expect(code).toBe(0);
      done = signal === null && kills >= chaos.atLeast && outage.count() >= chaos.atLeast;
    }
  } finally {
    await outage.end();
  }
  const spoolDirectory = join(directory, 'data', 'spool');
  const client = createNotificationClient({ url: api.url, apiKey: api.apiKey, spoolDirectory, maxSpoolRetries: 1_000 });
  while ((await client.flush()).left > 0);
  const delivered = await api.delivered();
  expect(delivered).toHaveLength(notifications);
  expect(new Set(delivered)).toEqual(new Set(markers));
  expect(readdirSync(spoolDirectory)).toEqual([]);
  expect(readdirSync(join(directory, 'data'))).toEqual(['spool']);
  await api.stop();
  return { kills, outages: outage.count() };
}

function producer(api: ProducerApi, { directory, slice }: Chaos): ChildProcess {
  const files = ['--recipients', 'recipients.jsonl', '--message', 'message.json'];
  const args = ['--run', 'chaos', ...files, '--slice', String(slice)];
  const env = {
    ...process.env,
    NOTIFICATION_API_URL: api.url,
    NOTIFICATION_API_KEY: api.apiKey,
    MAX_SPOOL_RETRIES: '1000',
  };
  const child = spawn(process.execPath, ['producer.mjs', ...args], {
    cwd: directory,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr?.resume();
  return child;
}

/** Stops and starts the API at random times until `end` is called. The API is up then. */
function comeAndGo(api: ProducerApi, { upMs, downMs }: Chaos): { end(): Promise<void>; count(): number } {
  let ended = false;
  let outages = 0;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms * Math.random()));
  const running = (async () => {
    while (!ended) {
      await pause(upMs);
      await api.stop();
      outages++;
      await pause(downMs);
      await api.start();
    }
  })();
  return {
    end: () => {
      ended = true;
      return running;
    },
    count: () => outages,
  };
}
