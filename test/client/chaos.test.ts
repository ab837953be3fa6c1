import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createNotificationClient } from '../../src/client/index.ts';
import { ApiStandIn } from './api-stand-in.ts';
import type { ProducerApi } from './producer-api.ts';

const FULL = process.env['FULL'] !== undefined;
const NOTIFICATIONS = FULL ? 10_000 : 300;
const SLICE = FULL ? 100 : 30;
const MINUTES = FULL ? 20 : 2;

let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'chaos-'));
  await build({
    entryPoints: [join(import.meta.dirname, '..', '..', 'examples', 'batch-951', 'main.ts')],
    outfile: join(directory, 'producer.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
  });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it(
  `${NOTIFICATIONS} notifications: the API comes and goes, the producer is killed again and again, and each is delivered once`,
  async () => {
    const api = new ApiStandIn();
    // A request in twenty is taken without an answer.
    api.losesAnswer = () => Math.random() < 0.05;
    const { kills, outages } = await survive(api);
    expect([kills, outages].every((count) => count >= 3)).toBe(true);
  },
  MINUTES * 60_000,
);

/** Sends them all through whatever happens, and checks that each arrived once and that nothing is left behind. */
async function survive(api: ProducerApi): Promise<{ kills: number; outages: number }> {
  await api.start();
  const markers = Array.from({ length: NOTIFICATIONS }, (_, n) => `chaos-${n}`);
  const lines = markers.map((id) => JSON.stringify({ id, ...api.notification(id) }));
  writeFileSync(join(directory, 'recipients.jsonl'), lines.join('\n'));
  writeFileSync(join(directory, 'message.json'), '{}');
  const outage = comeAndGo(api);
  let kills = 0;
  try {
    for (let done = false; !done; ) {
      const child = producer(api);
      // Longer each time, so that it gets through at last.
      const killer = setTimeout(() => child.kill('SIGKILL'), 100 + Math.random() * 400 * 1.5 ** kills);
      const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
        child.once('exit', (...ended) => resolve(ended));
      });
      clearTimeout(killer);
      if (signal === 'SIGKILL') kills++;
      else expect(code).toBe(0);
      done = signal === null && kills >= 3;
    }
  } finally {
    await outage.end();
  }
  const spoolDirectory = join(directory, 'data', 'spool');
  const client = createNotificationClient({ url: api.url, apiKey: api.apiKey, spoolDirectory, maxSpoolRetries: 1_000 });
  while ((await client.flush()).left > 0);
  const delivered = await api.delivered();
  expect(delivered).toHaveLength(NOTIFICATIONS);
  expect(new Set(delivered)).toEqual(new Set(markers));
  expect(readdirSync(spoolDirectory)).toEqual([]);
  expect(readdirSync(join(directory, 'data'))).toEqual(['spool']);
  await api.stop();
  return { kills, outages: outage.count() };
}

function producer(api: ProducerApi): ChildProcess {
  const args = [
    '--run',
    'chaos',
    '--recipients',
    'recipients.jsonl',
    '--message',
    'message.json',
    '--slice',
    String(SLICE),
  ];
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
function comeAndGo(api: ProducerApi): { end(): Promise<void>; count(): number } {
  let ended = false;
  let outages = 0;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms * Math.random()));
  const running = (async () => {
    while (!ended) {
      await pause(700);
      await api.stop();
      outages++;
      await pause(500);
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
