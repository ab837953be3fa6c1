import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readAssembly } from '../../src/local/emulator/template/assembly.ts';
import { startChild } from '../../src/local/processes/start-child.ts';
import { Teardown } from '../../src/local/processes/teardown.ts';
import { DEFAULT_WORK_DIR } from '../../src/local/runtime/directories.ts';
import { synthesize } from '../../src/local/runtime/synthesize.ts';
import { bodyOf } from '../setup/rows.ts';
import { startWorld } from '../setup/world.ts';
import { ourCandidate, webhookSecret } from './our-candidate.ts';
import type { PeerSettings } from './peer-process.ts';
import { sharesOf } from './profile.ts';
import { startPeersReceiver } from './receiver.ts';
import {
  type Candidate,
  CONCURRENCY,
  measure,
  measureDeaths,
  PATIENCE_SECONDS,
  renderPeers,
  serverCpu,
  treeOf,
} from './rounds.ts';
import { installPeers, type Server, startPostgres, startRedis, TOOLS } from './servers.ts';

const USAGE = `npm run bench:peers -- [--count N] [--rounds N] [--kills N] [--json]

Sends the same signed webhooks with BullMQ, pg-boss, graphile-worker and this project, in turn: see docs/benchmarks.md.

  --count N   webhooks per round, 8000
  --rounds N  rounds of each, 3; the table has the medians
  --kills N   times that the worker is killed in the last round, 10
  --json      prints one object on stdout in place of the table
`;
const BODY_BYTES = 1024;

const options = optionsOf();
if (options === undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  const home = mkdtempSync(join(tmpdir(), 'notification-retry-peers-'));
  const teardown = new Teardown();
  try {
    await run(options, home, teardown);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  } finally {
    await teardown.run();
    rmSync(home, { recursive: true, force: true });
  }
}

function optionsOf() {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  try {
    const { values } = parseArgs({
      options: { count: text('8000'), rounds: text('3'), kills: text('10'), json: { type: 'boolean', default: false } },
    });
    const [count = 0, rounds = 0, kills = 0] = [values.count, values.rounds, values.kills].map(Number);
    const valid = count > 0 && rounds > 0 && [count, rounds, kills].every((n) => Number.isInteger(n) && n >= 0);
    return valid ? { count, rounds, kills, json: values.json } : undefined;
  } catch {
    return undefined;
  }
}

async function run(
  { count, rounds, kills, json }: NonNullable<typeof options>,
  home: string,
  teardown: Teardown,
): Promise<void> {
  const step = (text: string) => process.stderr.write(`${text}\n`);
  const [redis, postgres] = [await startRedis(home), await startPostgres(home)];
  teardown.add('Redis', () => redis.stop());
  teardown.add('PostgreSQL', () => postgres.stop());
  installPeers();
  const stack = readAssembly(await synthesize(DEFAULT_WORK_DIR, () => step('synthesizing the stack')));
  const before = new Set(treeOf([process.pid]));
  const world = await startWorld({ stack, home, step });
  teardown.add('stand-ins', () => world.stop());
  const servers = treeOf([process.pid]).filter((pid) => !before.has(pid));
  const secret = webhookSecret(world);
  const receiver = await startPeersReceiver(secret);
  teardown.add('receiver', () => receiver.close());
  const body = bodyOf(BODY_BYTES);
  const settings = {
    ...{ tools: TOOLS, url: receiver.url, secret, body },
    ...{ concurrency: CONCURRENCY, patience_seconds: PATIENCE_SECONDS },
  };
  const peer = (name: string, server: Server) =>
    peerCandidate({ ...settings, peer: name, port: server.port }, server.pid, join(home, `${name}.log`));
  step(`seeding ${count} notifications`);
  const candidates = [
    await ourCandidate(world, { count, url: receiver.url, body, servers }),
    peer('bullmq', redis),
    peer('pg-boss', postgres),
    peer('graphile-worker', postgres),
  ];
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
  const [ours] = candidates;
  step('our worker once more, with a profile');
  if (ours !== undefined) await measure({ ...ours, start: () => ours.start(home) }, receiver, count);
  const shares = sharesOf(JSON.parse(readFileSync(join(home, 'worker.cpuprofile'), 'utf8')));
  const results = candidates.map(({ name }, i) => ({ name, rounds: measured[i] ?? [], deaths: deaths[i] }));
  const report = { count, results, shares };
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : renderPeers(report));
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
      const before = serverCpu([pid]);
      const kill = async () => {
        process.kill(pid, 'SIGKILL');
        await exited;
      };
      return { cpu: () => serverCpu([pid]) - before, kill, stop: kill };
    },
    async records() {
      const child = await start('records');
      await child.stop();
      return Number(child.ready['records']);
    },
  };
}
