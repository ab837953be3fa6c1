import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../../../src/local/processes/start-child.ts';
import { Teardown } from '../../../src/local/processes/teardown.ts';
import { SAMPLE_INTEGRATIONS } from '../../../src/local/runtime/secrets-file.ts';
import { command, read, whole } from '../../../src/terminal/command-line.ts';
import { installPackages } from '../../third-party/install-packages.ts';
import { type BenchContext, createContext } from '../benchmark.ts';
import { inTurns } from '../figure.ts';
import { POST } from '../setup/newsletter.ts';
import { startReceiver } from '../setup/receiver.ts';
import { bodyOf } from '../setup/rows.ts';
import { inWorld, type World } from '../setup/world.ts';
import { instructionsOf, MOST_COUNTED, SLOW_PATIENCE_SECONDS } from './instructions.ts';
import { listmonk } from './listmonk.ts';
import { type MailingSystem, measureMailing, renderMailings } from './mailings.ts';
import { ourCandidate, ourMailings } from './our-candidate.ts';
import type { PeerSettings } from './peer-process.ts';
import { sharesOf } from './profile.ts';
import { type Candidate, measure, measureDeaths, PATIENCE_SECONDS, renderPeers, sideBySide } from './rounds.ts';
import { find, type Server, startPostgres, startRedis, treeOf } from './servers.ts';

const USAGE = `npm run bench:peers -- [--count N] [--rounds N] [--kills N] [--batch N] [--workers N] [--instructions]
npm run bench:peers -- --listmonk DIR [--count N] [--rounds N] [--kills N] [--rate N]

Sends the same signed webhooks with BullMQ, pg-boss, graphile-worker and this project, in turn: see docs/benchmarks.md.
With --listmonk sends the same mailing with listmonk and this project, and kills the sender in every round.

  --count N       webhooks per round (default: 8000), or members with --listmonk (10000)
  --rounds N      rounds of each (3); the table has the medians
  --kills N       times that the worker is killed in the last round, or the sender of a mailing in each (10)
  --batch N       webhooks that a worker sends side by side (25, as in the standard lane; 10 is the express lane)
  --workers N     workers of each (1); the time counts from the start of the first
  --listmonk DIR  checkout of listmonk, with the binary built in it
  --rate N        mails per second with --listmonk (100, its own default)
  --instructions  also counts the instructions per webhook, which other work does not change: with valgrind, minutes
`;
const BODY_BYTES = 1024;
const FLAGS = { instructions: { type: 'boolean' }, help: { type: 'boolean' } } as const;

process.exitCode = await command(
  (args) => {
    const text = (value: string) => ({ type: 'string', default: value }) as const;
    const sizes = { count: { type: 'string' }, batch: text('25'), workers: text('1'), rate: text('100') } as const;
    const given = { ...sizes, rounds: text('3'), kills: text('10'), listmonk: { type: 'string' }, ...FLAGS } as const;
    const { count, rounds, kills, batch, workers, rate, listmonk, instructions = false, help } = read(args, given);
    if (help) return undefined;
    return {
      listmonk,
      rate: whole('--rate', rate, 10, 10_000),
      count: whole('--count', count ?? (listmonk === undefined ? '8000' : '10000'), 1, 1_000_000),
      rounds: whole('--rounds', rounds, 1, 100),
      kills: whole('--kills', kills, 0, 1_000),
      batch: whole('--batch', batch, 1, 25),
      workers: whole('--workers', workers, 1, 100),
      instructions,
    };
  },
  () => USAGE,
  async ({ listmonk: checkout, count, ...options }) => {
    const context = await createContext((text) => process.stderr.write(`${text}\n`));
    if (checkout === undefined) await inWorld(context, (world) => run({ count, ...options }, context, world));
    else process.stdout.write(await mailings({ checkout, members: count, ...options }, context));
    return 0;
  },
);

type Options = Readonly<Record<'count' | 'rounds' | 'kills' | 'batch' | 'workers', number>> & {
  readonly instructions: boolean;
};

async function run(
  { count, rounds, kills, batch, workers, instructions }: Options,
  { home, step }: BenchContext,
  world: World,
): Promise<void> {
  if (instructions) find('valgrind', 'valgrind');
  const standIns = treeOf([process.pid]).filter((pid) => pid !== process.pid);
  const redis = await startRedis(home);
  world.until('Redis', redis.stop);
  const postgres = await startPostgres(home);
  world.until('PostgreSQL', postgres.stop);
  const tools = installPackages('peers', join(import.meta.dirname, 'tools.json'));
  const secret: string = JSON.parse(readFileSync(world.secretsFile, 'utf8')).integrations[SAMPLE_INTEGRATIONS.webhook]
    .secrets[0];
  const receiver = await startReceiver(secret);
  world.until('receiver of the peers', receiver.close);
  const [url, body] = [`${receiver.url}/flaky`, bodyOf(BODY_BYTES)];
  const peer = (name: string, { port, pid }: Server, patience: number) => {
    const settings = { peer: name, port, tools, url, secret, body, concurrency: batch, patience_seconds: patience };
    return peerCandidate(settings, pid, join(home, `${name}.log`));
  };
  step(`seeding ${count} notifications`);
  const all = async (patience: number, count: number): Promise<[Candidate, ...Candidate[]]> => [
    await ourCandidate(world, { count, batch, url, body, patience, servers: standIns }),
    peer('bullmq', redis, patience),
    peer('pg-boss', postgres, patience),
    peer('graphile-worker', postgres, patience),
  ];
  const [ours, ...peers] = await all(PATIENCE_SECONDS, count);
  const candidates = [ours, ...peers].map((candidate) => sideBySide(candidate, workers));
  const inSight = <T>(measured: (candidate: Candidate) => Promise<T>) => {
    const named = candidates.map((candidate) => {
      const tell = async () => {
        const result = await measured(candidate);
        step(`${candidate.name}: ${JSON.stringify(result)}`);
        return result;
      };
      return [candidate.name, tell] as const;
    });
    return Object.fromEntries(named);
  };
  const measured = await inTurns(
    inSight((candidate) => measure(candidate, receiver, { count })),
    { rounds, step },
  );
  const deaths = await inTurns(
    inSight((candidate) => measureDeaths(candidate, receiver, { count, kills })),
    { rounds: kills > 0 ? 1 : 0, step },
  );
  const counts: Record<string, number> = {};
  for (const candidate of instructions ? await all(SLOW_PATIENCE_SECONDS, MOST_COUNTED) : []) {
    step(`instructions of ${candidate.name}`);
    counts[candidate.name] = await instructionsOf(candidate, receiver, home);
  }
  step('our worker once more, with a profile');
  await measure(ours, receiver, { count, profiles: home });
  const shares = sharesOf(JSON.parse(readFileSync(join(home, 'worker.cpuprofile'), 'utf8')));
  const results = candidates.map(({ name }) => ({ name, rounds: measured[name] ?? [], deaths: deaths[name]?.[0] }));
  process.stdout.write(renderPeers({ count, results, instructions: counts, shares }));
}

type MailingOptions = Readonly<Record<'members' | 'kills' | 'rounds' | 'rate', number>> & { readonly checkout: string };

/** The same mailing by this project and by listmonk, in turn. */
async function mailings({ checkout, members, kills, rounds, rate }: MailingOptions, context: BenchContext) {
  const { home, step } = context;
  const teardown = new Teardown();
  try {
    const post = POST.replace('{name, "reader"}', '{{ .Subscriber.FirstName }}');
    const theirs = await listmonk({ checkout, home, members, rate, post }, teardown);
    const ours = await ourMailings(context, { members, rate }, teardown);
    const measured = (system: MailingSystem) => async (seed: number) => {
      const round = await measureMailing(system, { members, kills, seed });
      step(`${system.name}: ${JSON.stringify(round)}`);
      return round;
    };
    const systems = { 'notification-retry': measured(ours), listmonk: measured(theirs) };
    return renderMailings(await inTurns(systems, { rounds, step }));
  } finally {
    await teardown.run();
  }
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
      const { pid, exited, stop } = await start('work');
      const kill = async () => {
        process.kill(pid, 'SIGKILL');
        await exited;
      };
      return { pids: [pid], kill, stop };
    },
    async records() {
      const child = await start('records');
      await child.stop();
      return Number(child.ready['records']);
    },
  };
}
