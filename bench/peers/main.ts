import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readAssembly } from '../../src/local/emulator/template/assembly.ts';
import { Teardown } from '../../src/local/processes/teardown.ts';
import { DEFAULT_WORK_DIR } from '../../src/local/runtime/paths.ts';
import { synthesize } from '../../src/local/runtime/synthesize.ts';
import { bodyOf } from '../setup/body.ts';
import { startWorld } from '../setup/world.ts';
import { type Candidate, CONCURRENCY, PATIENCE_SECONDS } from './candidate.ts';
import { installPeers, TOOLS } from './install.ts';
import { ourCandidate, webhookSecret } from './our-candidate.ts';
import { type PeersReport, renderPeers, startPeer } from './peer-candidate.ts';
import { treeOf } from './process-cpu.ts';
import { startPeersReceiver } from './receiver.ts';
import { measure, measureDeaths } from './rounds.ts';
import { MissingServerError, startPostgres, startRedis } from './servers.ts';

const USAGE = `npm run bench:peers -- [--count N] [--rounds N] [--kills N] [--json]

Sends the same signed webhooks with BullMQ, pg-boss, graphile-worker and this project, in turn: see docs/benchmarks.md.

  --count N   webhooks per round, 2000
  --rounds N  rounds of each, 3; the table has the medians
  --kills N   times that the worker is killed in the last round, 10
  --json      prints one object on stdout in place of the table
`;
const BODY_BYTES = 1024;

process.exitCode = await main();

async function main(): Promise<number> {
  const options = optionsOf();
  if (options === undefined) return 2;
  const home = mkdtempSync(join(tmpdir(), 'notification-retry-peers-'));
  const teardown = new Teardown();
  const step = (text: string) => process.stderr.write(`${text}\n`);
  try {
    const report = await run(options, home, teardown, step);
    process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : renderPeers(report));
    return 0;
  } catch (error) {
    const expected = error instanceof MissingServerError;
    process.stderr.write(`${expected ? error.message : error instanceof Error ? error.stack : error}\n`);
    return 1;
  } finally {
    await teardown.run();
    rmSync(home, { recursive: true, force: true });
  }
}

interface Options {
  readonly count: number;
  readonly rounds: number;
  readonly kills: number;
  readonly json: boolean;
}

function optionsOf(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        count: { type: 'string', default: '2000' },
        rounds: { type: 'string', default: '3' },
        kills: { type: 'string', default: '10' },
        json: { type: 'boolean', default: false },
      },
    });
    const [count, rounds, kills] = [values.count, values.rounds, values.kills].map(Number);
    if (count && rounds && kills !== undefined && [count, rounds, kills].every((n) => Number.isInteger(n) && n >= 0)) {
      return { count, rounds, kills, json: values.json };
    }
  } catch {
    // The usage says what would be right.
  }
  process.stderr.write(USAGE);
  return undefined;
}

async function run(
  { count, rounds, kills }: Options,
  home: string,
  teardown: Teardown,
  step: (text: string) => void,
): Promise<PeersReport> {
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
  const peer = (name: string, { port, pid }: { port: number; pid: number }) =>
    startPeer({ ...settings, peer: name, port }, pid);
  step(`seeding ${count} notifications`);
  const candidates: Candidate[] = [
    await ourCandidate(world, { count, url: receiver.url, body, servers }),
    await peer('bullmq', redis),
    await peer('pg-boss', postgres),
    await peer('graphile-worker', postgres),
  ];
  for (const candidate of candidates) teardown.add(candidate.name, () => candidate.stop());
  const results = candidates.map(({ name }) => ({ name, rounds: [] as PeersReport['results'][number]['rounds'] }));
  for (let round = 0; round < rounds; round++) {
    for (const [i, candidate] of candidates.entries()) {
      const measured = await measure(candidate, receiver, count);
      step(`round ${round + 1} of ${rounds}: ${candidate.name}: ${JSON.stringify(measured)}`);
      results[i]?.rounds.push(measured);
    }
  }
  const deaths: PeersReport['results'][number]['deaths'][] = [];
  for (const candidate of kills > 0 ? candidates : []) {
    const measured = await measureDeaths(candidate, receiver, { count, kills });
    step(`${kills} deaths: ${candidate.name}: ${JSON.stringify(measured)}`);
    deaths.push(measured);
  }
  return { count, results: results.map((result, i) => ({ ...result, deaths: deaths[i] })) };
}
