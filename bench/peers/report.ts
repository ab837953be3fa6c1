import { cpus } from 'node:os';
import { median } from '../statistics.ts';
import type { Deaths, Round } from './rounds.ts';

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
