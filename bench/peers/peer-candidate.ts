import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpus } from 'node:os';
import { pinnedNode } from '../../src/local/processes/pinned-node.ts';
import { median } from '../statistics.ts';
import type { Candidate, RunningWorker } from './candidate.ts';
import type { Deaths, Round } from './rounds.ts';
import type { PeerSettings } from './workers/worker-port.ts';

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process of a peer that obeys orders. */
interface PeerProcess {
  order(what: string, ids?: readonly string[]): Promise<unknown>;
  readonly child: ChildProcess;
}

/** A peer, with one process that queues and one that works. @param server its server's process */
export async function startPeer(settings: PeerSettings, server: number): Promise<Candidate> {
  const producer = await startProcess(settings);
  return {
    name: settings.peer,
    servers: [server],
    async enqueue(count) {
      await producer.order('clear');
      await producer.order(
        'enqueue',
        Array.from({ length: count }, () => randomUUID()),
      );
    },
    async start(): Promise<RunningWorker> {
      const worker = await startProcess(settings);
      await worker.order('work');
      return {
        cpu: async () => Number(await worker.order('cpu')),
        kill: () => end(worker, 'SIGKILL'),
        stop: () => end(worker, 'SIGKILL'),
      };
    },
    records: async () => Number(await producer.order('records')),
    stop: () => end(producer, 'SIGKILL'),
  };
}

async function startProcess(settings: PeerSettings): Promise<PeerProcess> {
  const child = fork(new URL('./workers/peer-process.ts', import.meta.url), [JSON.stringify(settings)], {
    execPath: pinnedNode(),
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const announced = new Promise<void>((resolve, reject) => {
    child.once('message', (said) => {
      if (typeof said === 'object' && said !== null && 'failed' in said) reject(new Error(String(said.failed)));
      else resolve();
    });
    child.once('exit', (code, signal) => reject(new Error(`${settings.peer} ended: ${signal ?? code}`)));
  });
  await announced;
  child.on('message', (message) => {
    const { id, value, error } = message as Answer;
    const open = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) open?.resolve(value);
    else open?.reject(new Error(`${settings.peer}: ${error}`));
  });
  let last = 0;
  return {
    child,
    order: (what, ids) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, { resolve, reject });
        child.send({ id, do: what, ...(ids && { ids }) });
      }),
  };
}

async function end({ child }: PeerProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

export interface PeersReport {
  readonly count: number;
  readonly results: readonly {
    readonly name: string;
    readonly rounds: Round[];
    readonly deaths: Deaths | undefined;
  }[];
}

const COLUMNS = [
  'system',
  'worker CPU, ms',
  'server CPU, ms',
  'seconds',
  'records kept',
  'killed',
  'not delivered',
  'doubled',
] as const;

/** The table of docs/benchmarks.md: medians of the rounds, per delivered webhook. */
export function renderPeers({ count, results }: PeersReport): string {
  const rows = results.map(({ name, rounds, deaths }) => {
    const of = (pick: (round: Round) => number, digits: number) => median(rounds.map(pick)).toFixed(digits);
    return [
      name,
      of(({ worker_ms }) => worker_ms, 2),
      of(({ server_ms }) => server_ms, 2),
      of(({ seconds }) => seconds, 1),
      of(({ records }) => records, 0),
      ...(deaths ? [deaths.killed, deaths.missing, deaths.doubled].map(String) : ['–', '–', '–']),
    ];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const processors = cpus();
  const machine = `${count} webhooks per round, on ${processors.length} × ${processors[0]?.model ?? 'unknown'}, Node ${process.version}`;
  const table = `${line(COLUMNS)}${line(COLUMNS.map(() => '---'))}${rows.map(line).join('')}`;
  return `${machine}\n\n${table}${againstBullMq(results)}`;
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
  return `\nworker CPU, ours ÷ bullmq: ${median(ratios).toFixed(2)}, budget ≤ 1.0 (rounds: ${each})\n`;
}
