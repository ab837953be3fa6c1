import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPackages } from '../../scripts/tools/install-packages.ts';
import { readAssembly } from '../../src/local/emulator/template/assembly.ts';
import { startChild } from '../../src/local/processes/start-child.ts';
import { Teardown } from '../../src/local/processes/teardown.ts';
import { DEFAULT_WORK_DIR } from '../../src/local/runtime/directories.ts';
import { SAMPLE_INTEGRATIONS } from '../../src/local/runtime/secrets-file.ts';
import { synthesize } from '../../src/local/runtime/synthesize.ts';
import { command, read, whole } from '../../src/terminal/command-line.ts';
import { standardMapping } from '../setup/lanes.ts';
import { startReceiver } from '../setup/receiver.ts';
import { bodyOf } from '../setup/rows.ts';
import { startWorld } from '../setup/world.ts';
import { ourCandidate } from './our-candidate.ts';
import type { PeerSettings } from './peer-process.ts';
import { type Candidate, measure, measureDeaths, PATIENCE_SECONDS, renderPeers } from './rounds.ts';
import { type Server, startPostgres, startRedis, treeOf } from './servers.ts';

const USAGE = `npm run bench:peers -- [--count N] [--rounds N] [--kills N]

Sends the same signed webhooks with BullMQ, pg-boss, graphile-worker and this project, in turn: see docs/benchmarks.md.

  --count N   webhooks per round, 8000
  --rounds N  rounds of each, 3; the table has the medians
  --kills N   times that the worker is killed in the last round, 10
`;
const BODY_BYTES = 1024;

process.exitCode = await command(
  (args) => {
    const text = (value: string) => ({ type: 'string', default: value }) as const;
    const given = { count: text('8000'), rounds: text('3'), kills: text('10'), help: { type: 'boolean' } } as const;
    const { count, rounds, kills, help } = read(args, given);
    if (help) return undefined;
    return {
      count: whole('--count', count, 1, 1_000_000),
      rounds: whole('--rounds', rounds, 1, 100),
      kills: whole('--kills', kills, 0, 1_000),
    };
  },
  () => USAGE,
  async (options) => {
    const home = mkdtempSync(join(tmpdir(), 'notification-retry-peers-'));
    const teardown = new Teardown();
    try {
      await run(options, home, teardown);
      return 0;
    } finally {
      await teardown.run();
      rmSync(home, { recursive: true, force: true });
    }
  },
);

type Options = Readonly<Record<'count' | 'rounds' | 'kills', number>>;

async function run({ count, rounds, kills }: Options, home: string, teardown: Teardown): Promise<void> {
  const step = (text: string) => process.stderr.write(`${text}\n`);
  const [redis, postgres] = [await startRedis(home), await startPostgres(home)];
  teardown.add('Redis', () => redis.stop());
  teardown.add('PostgreSQL', () => postgres.stop());
  const tools = installPackages('peers', join(import.meta.dirname, 'tools.json'));
  const stack = readAssembly(await synthesize(DEFAULT_WORK_DIR, () => step('synthesizing the stack')));
  const before = new Set(treeOf([process.pid]));
  const world = await startWorld({ stack, home, step }, teardown);
  const servers = treeOf([process.pid]).filter((pid) => !before.has(pid));
  const secret: string = JSON.parse(readFileSync(world.secretsFile, 'utf8')).integrations[SAMPLE_INTEGRATIONS.webhook]
    .secrets[0];
  const receiver = await startReceiver(secret);
  teardown.add('receiver of the peers', () => receiver.close());
  const [url, body] = [`${receiver.url}/flaky`, bodyOf(BODY_BYTES)];
  const peer = (name: string, { port, pid }: Server) => {
    const given = { peer: name, port, tools, url, secret, body };
    const { batchSize: concurrency } = standardMapping(world, 'send-webhook');
    const settings = { ...given, concurrency, patience_seconds: PATIENCE_SECONDS };
    return peerCandidate(settings, pid, join(home, `${name}.log`));
  };
  step(`seeding ${count} notifications`);
  const ours = await ourCandidate(world, { count, url, body, servers });
  const candidates = [ours, peer('bullmq', redis), peer('pg-boss', postgres), peer('graphile-worker', postgres)];
  const measured = candidates.map(() => [] as Awaited<ReturnType<typeof measure>>[]);
  for (let round = 0; round < rounds; round++) {
    for (const [i, candidate] of candidates.entries()) {
      const one = await measure(candidate, receiver, count);
      step(`round ${round + 1} of ${rounds}: ${candidate.name}: ${JSON.stringify(one)}`);
      measured[i]?.push(one);
    }
  }
  const deaths: Awaited<ReturnType<typeof measureDeaths>>[] = [];
  for (const candidate of kills > 0 ? candidates : []) {
    const one = await measureDeaths(candidate, receiver, { count, kills });
    step(`${kills} deaths: ${candidate.name}: ${JSON.stringify(one)}`);
    deaths.push(one);
  }
  const results = candidates.map(({ name }, i) => ({ name, rounds: measured[i] ?? [], deaths: deaths[i] }));
  process.stdout.write(renderPeers(count, results));
}

/** A peer: a process queues, another works, a third counts. @param server its server's process */
function peerCandidate(settings: PeerSettings, server: number, logFile: string): Candidate {
  const start = (...action: readonly string[]) =>
    startChild({
      name: `${settings.peer}: ${action[0]}`,
      entry: new URL('peer-process.ts', import.meta.url),
      args: [JSON.stringify(settings), ...action],
      logFile,
      startTimeoutMs: 120_000,
    });
  return {
    name: settings.peer,
    servers: [server],
    async enqueue(count) {
      await (await start('enqueue', String(count))).stop();
    },
    async start() {
      const { pid, exited } = await start('work');
      const kill = async () => {
        process.kill(pid, 'SIGKILL');
        await exited;
      };
      return { pid, kill, stop: kill };
    },
    async records() {
      const child = await start('records');
      await child.stop();
      return Number(child.ready['records']);
    },
  };
}
