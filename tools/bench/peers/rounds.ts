import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { median } from '../figure.ts';
import { markdownTable } from '../report.ts';
import type { Receiver } from '../setup/receiver.ts';
import type { sharesOf } from './profile.ts';
import { cpuOf } from './servers.ts';

/** A system that sends the webhooks. */
export interface Candidate {
  readonly name: string;
  /** Processes whose CPU counts as the server's; with their children. */
  readonly servers: readonly number[];
  /** Queues webhooks, outside the measurement. */
  enqueue(count: number): Promise<void>;
  /**
   * Starts a worker, which sends as many side by side as a batch of ours has. It has loaded its modules, and begins at once.
   * @param profiles directory for a CPU profile, which the worker writes when it is stopped
   */
  start(profiles?: string): Promise<RunningWorker>;
  /** What is kept of attempts after all is delivered. */
  records(): Promise<number>;
}

export interface RunningWorker {
  readonly pids: readonly number[];
  /** Kills it as the kernel does: SIGKILL. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** The candidate with several workers, as a lane has instances. */
export function sideBySide(candidate: Candidate, count: number): Candidate {
  return {
    ...candidate,
    async start(profiles) {
      const workers = await Promise.all(Array.from({ length: count }, () => candidate.start(profiles)));
      const all = async (end: (worker: RunningWorker) => Promise<void>) => {
        await Promise.all(workers.map(end));
      };
      return {
        pids: workers.flatMap(({ pids }) => pids),
        kill: () => all((worker) => worker.kill()),
        stop: () => all((worker) => worker.stop()),
      };
    },
  };
}

/** After a death, a system may find out in its own way, but no later. Its defaults are 30 seconds to four hours. */
export const PATIENCE_SECONDS = 3;

type Round = Awaited<ReturnType<typeof measure>>;
type Deaths = Awaited<ReturnType<typeof measureDeaths>>;

/** Deliveries in which a worker's code is compiled; at most a quarter of a round. */
const COLD = 1_000;

/** After this time without a delivery nothing will be delivered: every system notices a crash within three seconds. */
const STANDSTILL_MS = 30_000;

/** Delivers all webhooks once. @throws Error when some are not delivered */
export async function measure(
  candidate: Candidate,
  receiver: Receiver,
  { count, profiles }: { readonly count: number; readonly profiles?: string },
) {
  receiver.reset();
  await candidate.enqueue(count);
  const server = cpuOf(candidate.servers);
  const started = Date.now();
  const worker = await candidate.start(profiles);
  const before = cpuOf(worker.pids);
  const used = () => cpuOf(worker.pids) - before;
  try {
    await until(() => receiver.delivered() >= Math.min(COLD, count / 4), receiver);
    const [cold, cold_cpu] = [receiver.delivered(), used()];
    await until(() => receiver.delivered() === count, receiver);
    const cpu = used();
    const server_ms = (cpuOf(candidate.servers) - server) / count;
    if (receiver.delivered() !== count) {
      throw new Error(`${candidate.name} delivered ${receiver.delivered()} of ${count}`);
    }
    // The last outcomes are written after the last answer.
    await pause(500);
    return {
      /** Milliseconds of CPU per delivered webhook: of all, of those while the code is compiled, of the others. */
      worker_ms: cpu / count,
      cold_ms: cold_cpu / cold,
      warm_ms: (cpu - cold_cpu) / (count - cold),
      server_ms,
      /** From the start of the worker to the last delivery. */
      seconds: (receiver.lastAt() - started) / 1000,
      records: await candidate.records(),
    };
  } finally {
    await worker.stop();
  }
}

/** Delivers all webhooks while the worker is killed, each time after the same share of them. */
export async function measureDeaths(
  candidate: Candidate,
  receiver: Receiver,
  { count, kills }: { readonly count: number; readonly kills: number },
) {
  receiver.reset();
  await candidate.enqueue(count);
  let worker = await candidate.start();
  let killed = 0;
  for (; killed < kills; killed++) {
    const share = (count * (killed + 1)) / (kills + 2);
    await until(() => receiver.delivered() >= share, receiver);
    if (receiver.delivered() < share) break;
    await worker.kill();
    worker = await candidate.start();
  }
  await until(() => receiver.delivered() === count, receiver);
  await worker.stop();
  // Missing is what was not delivered when nothing moved any more.
  return { killed, missing: count - receiver.delivered(), doubled: receiver.doubled() };
}

/** Waits until it holds, or until nothing has been delivered for a while. */
export async function until(holds: () => boolean, receiver: Receiver): Promise<void> {
  const began = Date.now();
  while (!holds() && Date.now() - Math.max(began, receiver.lastAt()) <= STANDSTILL_MS) await pause(5);
}

export interface PeersReport {
  readonly count: number;
  /** Of each system, per delivered webhook, where they were counted. */
  readonly instructions: Readonly<Record<string, number>>;
  readonly results: readonly {
    readonly name: string;
    readonly rounds: readonly Round[];
    readonly deaths: Deaths | undefined;
  }[];
  /** Of our worker's CPU. */
  readonly shares: ReturnType<typeof sharesOf>;
}

/** What the table of docs/benchmarks.md has of a round: its medians, with so many digits. */
const COLUMNS: readonly (readonly [title: string, of: keyof Round, digits: number])[] = [
  ['worker CPU, ms', 'worker_ms', 2],
  ['first 1,000', 'cold_ms', 2],
  ['the others', 'warm_ms', 2],
  ['server CPU, ms', 'server_ms', 2],
  ['seconds', 'seconds', 1],
  ['records kept', 'records', 0],
];

/** The table of docs/benchmarks.md: medians of the rounds, per delivered webhook. */
export function renderPeers({ count, results, instructions, shares }: PeersReport): string {
  const titles = ['system', ...COLUMNS.map(([title]) => title), 'instructions', 'killed', 'not delivered', 'doubled'];
  const rows = results.map(({ name, rounds, deaths }) => [
    name,
    ...COLUMNS.map(([, of, digits]) => median(rounds.map((round) => round[of])).toFixed(digits)),
    name in instructions ? `${((instructions[name] ?? 0) / 1e6).toFixed(2)} million` : '–',
    ...(deaths ? [deaths.killed, deaths.missing, deaths.doubled] : ['–', '–', '–']),
  ]);
  const processors = cpus();
  const machine = `${count} webhooks per round, on ${processors.length} × ${processors[0]?.model ?? 'unknown'}, Node ${process.version}`;
  const profile = shares.map(([subject, share]) => `${subject} ${Math.round(100 * share)} %`).join(', ');
  return `${machine}\n\n${markdownTable(titles, rows)}${againstBullMq(results)}our worker's CPU: ${profile}\n`;
}

/**
 * Budget (docs/architecture.md). Of the rounds' ratios the median counts, because what else the machine does changes
 * from round to round.
 */
function againstBullMq(results: PeersReport['results']): string {
  const of = (name: string) => results.find((result) => result.name === name)?.rounds.map((one) => one.worker_ms);
  const [ours, theirs] = [of('ours'), of('bullmq')];
  if (ours === undefined || theirs === undefined) return '';
  const ratios = ours.map((ms, round) => ms / (theirs[round] ?? Number.NaN));
  const each = ratios.map((ratio) => ratio.toFixed(2)).join(', ');
  return `\nworker CPU, ours ÷ bullmq: ${median(ratios).toFixed(2)}, budget ≤ 1.4 (rounds: ${each})\n`;
}
