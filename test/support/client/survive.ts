import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect } from 'vitest';
import { createNotificationClient } from '../../../src/client/index.ts';
import { PROJECT_ROOT } from '../project-root.ts';
import type { ProducerApi } from './producer-api.ts';

export interface Chaos {
  /** Where the producer runs: an empty directory, with `producer.mjs` in it (`buildProducer`). */
  readonly directory: string;
  readonly notifications: number;
  /** Notifications that the producer reads at once. */
  readonly slice: number;
  /** Longest time that the API is up and down, in milliseconds; its starting comes on top. */
  readonly upMs: number;
  readonly downMs: number;
  /** Longest life of the producer's first process, in milliseconds; each further one may live half as long again. */
  readonly killMs: number;
  /** Kills and outages that there are at least: without any, nothing would have been survived. */
  readonly atLeast: number;
}

export interface Survived {
  /** Of the producer. */
  readonly kills: number;
  /** Of the API. */
  readonly outages: number;
}

/** The example producer as one file. */
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

/** Sends them all through whatever happens, and checks that each arrived once and that nothing is left behind. */
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

/** Stops and starts the API at random until it is told to end; then it is up. */
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
