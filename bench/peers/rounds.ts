import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { median } from '../figure.ts';
import type { sharesOf } from './profile.ts';
import type { PeersReceiver } from './receiver.ts';

/** A system that sends the webhooks. */
export interface Candidate {
  readonly name: string;
  /** Processes whose CPU counts as the server's; with their children. */
  readonly servers: readonly number[];
  /** Queues webhooks, outside the measurement. */
  enqueue(count: number): Promise<void>;
  /**
   * Starts a worker with the concurrency of ten. It begins at once.
   * @param profiles directory for a CPU profile, which the worker writes when it is stopped
   */
  start(profiles?: string): Promise<RunningWorker>;
  /** What is kept of attempts after all is delivered. */
  records(): Promise<number>;
}

export interface RunningWorker {
  /** Milliseconds of CPU that the worker has used since it began. */
  cpu(): number;
  /** Kills it as the kernel does: SIGKILL. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Webhooks that a worker sends side by side; a batch of ours has as many. */
export const CONCURRENCY = 10;

/** After a death, a system may find out in its own way, but no later. Its defaults are 30 seconds to four hours. */
export const PATIENCE_SECONDS = 3;

interface Round {
  /** Milliseconds of CPU per delivered webhook: of all, of those while the code is compiled, of the others. */
  readonly worker_ms: number;
  readonly cold_ms: number;
  readonly warm_ms: number;
  readonly server_ms: number;
  /** Seconds from the start of the worker to the last delivery. */
  readonly seconds: number;
  readonly records: number;
}

/** What deaths of the worker cost. */
interface Deaths {
  readonly killed: number;
  /** Webhooks that were not delivered when nothing moved any more. */
  readonly missing: number;
  /** Posts that the receiver took although it had taken that webhook before. */
  readonly doubled: number;
  readonly seconds: number;
}

/** Deliveries in which a worker's code is compiled; at most a quarter of a round. */
const COLD = 1_000;

/** After this time without a delivery nothing will be delivered: every system notices a crash within three seconds. */
const STANDSTILL_MS = 30_000;

/** Delivers all webhooks once. @throws Error when some are not delivered */
export async function measure(candidate: Candidate, receiver: PeersReceiver, count: number): Promise<Round> {
  receiver.reset();
  await candidate.enqueue(count);
  const before = serverCpu(candidate.servers);
  const started = Date.now();
  const worker = await candidate.start();
  try {
    await until(() => receiver.delivered() >= Math.min(COLD, count / 4), receiver);
    const [cold, cold_cpu] = [receiver.delivered(), worker.cpu()];
    await until(() => receiver.delivered() === count, receiver);
    const worker_ms = worker.cpu() / count;
    const server_ms = (serverCpu(candidate.servers) - before) / count;
    if (receiver.delivered() !== count) {
      throw new Error(`${candidate.name} delivered ${receiver.delivered()} of ${count}`);
    }
    // The last outcomes are written after the last answer.
    await pause(500);
    const seconds = (receiver.lastAt() - started) / 1000;
    const [cold_ms, warm_ms] = [cold_cpu / cold, (worker_ms * count - cold_cpu) / (count - cold)];
    return { worker_ms, cold_ms, warm_ms, server_ms, seconds, records: await candidate.records() };
  } finally {
    await worker.stop();
  }
}

/** Delivers all webhooks while the worker is killed, each time after the same share of them. */
export async function measureDeaths(
  candidate: Candidate,
  receiver: PeersReceiver,
  { count, kills }: { readonly count: number; readonly kills: number },
): Promise<Deaths> {
  receiver.reset();
  await candidate.enqueue(count);
  const started = Date.now();
  let worker = await candidate.start();
  let killed = 0;
  while (killed < kills) {
    const share = (count * (killed + 1)) / (kills + 2);
    await until(() => receiver.delivered() >= share, receiver);
    if (receiver.delivered() < share) break;
    await worker.kill();
    killed += 1;
    worker = await candidate.start();
  }
  await until(() => receiver.delivered() === count, receiver);
  const seconds = (receiver.lastAt() - started) / 1000;
  await worker.stop();
  return { killed, missing: count - receiver.delivered(), doubled: receiver.doubled(), seconds };
}

/** Waits until it holds, or until nothing has been delivered for a while. */
async function until(holds: () => boolean, receiver: PeersReceiver): Promise<void> {
  const began = Date.now();
  while (!holds()) {
    if (Date.now() - Math.max(began, receiver.lastAt()) > STANDSTILL_MS) return;
    await pause(5);
  }
}

export interface PeersReport {
  readonly count: number;
  readonly results: readonly {
    readonly name: string;
    readonly rounds: readonly Round[];
    readonly deaths: Deaths | undefined;
  }[];
  /** Of our worker's CPU. */
  readonly shares: ReturnType<typeof sharesOf>;
}

const COLUMNS =
  'system;worker CPU, ms;first 1,000;the others;server CPU, ms;seconds;records kept;killed;not delivered;doubled'.split(
    ';',
  );

/** The table of docs/benchmarks.md: medians of the rounds, per delivered webhook. */
export function renderPeers({ count, results, shares }: PeersReport): string {
  const rows = results.map(({ name, rounds, deaths }) => {
    const of = (pick: (round: Round) => number, digits: number) => median(rounds.map(pick)).toFixed(digits);
    return [
      name,
      of(({ worker_ms }) => worker_ms, 2),
      of(({ cold_ms }) => cold_ms, 2),
      of(({ warm_ms }) => warm_ms, 2),
      of(({ server_ms }) => server_ms, 2),
      of(({ seconds }) => seconds, 1),
      of(({ records }) => records, 0),
      ...(deaths ? [deaths.killed, deaths.missing, deaths.doubled] : ['–', '–', '–']),
    ];
  });
  const processors = cpus();
  const machine = `${count} webhooks per round, on ${processors.length} × ${processors[0]?.model ?? 'unknown'}, Node ${process.version}`;
  const table = [COLUMNS, COLUMNS.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  const profile = shares.map(([subject, share]) => `${subject} ${Math.round(100 * share)} %`).join(', ');
  return `${machine}\n\n${table}${againstBullMq(results)}our worker's CPU: ${profile}\n`;
}

/**
 * Budget (docs/architecture.md). Of the rounds' ratios the median counts, because what else the machine does changes
 * from round to round.
 */
function againstBullMq(results: PeersReport['results']): string {
  const cpuOf = (name: string) => results.find((result) => result.name === name)?.rounds.map((one) => one.worker_ms);
  const [ours, theirs] = [cpuOf('ours'), cpuOf('bullmq')];
  if (ours === undefined || theirs === undefined) return '';
  const ratios = ours.map((ms, round) => ms / (theirs[round] ?? Number.NaN));
  const each = ratios.map((ratio) => ratio.toFixed(2)).join(', ');
  return `\nworker CPU, ours ÷ bullmq: ${median(ratios).toFixed(2)}, budget ≤ 1.4 (rounds: ${each})\n`;
}

/** USER_HZ of Linux: what /proc counts CPU in. */
const TICKS_PER_SECOND = 100;

interface Stat {
  readonly pid: number;
  readonly parent: number;
  /** Milliseconds of user and system time, of children that have ended, too. */
  readonly cpu_ms: number;
}

/** The processes that these started, and they themselves. */
export function treeOf(roots: readonly number[]): number[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (statOf(Number(name)) ?? []) : []));
  const found = new Set(roots);
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** Milliseconds of CPU that a server and its children have used so far. */
export function serverCpu(roots: readonly number[]): number {
  return treeOf(roots).reduce((sum, pid) => sum + (statOf(pid)?.cpu_ms ?? 0), 0);
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
    return { pid, parent: Number(fields[1]), cpu_ms: (ticks * 1000) / TICKS_PER_SECOND };
  } catch {
    return undefined;
  }
}
