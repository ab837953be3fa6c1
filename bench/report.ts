import { cpus } from 'node:os';
import type { Colors } from '../src/terminal/colors.ts';
import type { Figure } from './figure.ts';

/** A benchmark that failed. */
export interface Failure {
  readonly benchmark: string;
  readonly error: string;
}

/** The output of `--json`. Keys are added, never removed. */
export interface BenchReport {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly started_at: string;
  readonly seconds: number;
  /** Whether every benchmark has run and every budget is met. */
  readonly met: boolean;
  readonly figures: readonly Figure[];
  readonly failures: readonly Failure[];
}

export function reportOf(started: Date, ended: Date, figures: readonly Figure[], failures: readonly Failure[]) {
  return {
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    started_at: started.toISOString(),
    seconds: Math.round((ended.getTime() - started.getTime()) / 1000),
    met: failures.length === 0 && figures.every(({ met }) => met),
    figures,
    failures,
  } satisfies BenchReport;
}

const HEADINGS = ['', 'figure', 'budget', '', 'plain reading'] as const;

/** The report for people: a table, with notes and details below it. */
export function renderReport(report: BenchReport, palette: Colors): string {
  const { figures, failures, seconds, cores, cpu, node } = report;
  const met = figures.filter((figure) => figure.met).length;
  return [
    ...tableLines(figures, palette),
    '',
    ...noteLines(figures).map(palette.dim),
    ...failures.map(({ benchmark, error }) => palette.yellow(`${benchmark} was not measured: ${error}`)),
    '',
    `${met} of ${figures.length} budgets met, in ${seconds} s on ${cores} × ${cpu}, Node ${node}`,
    '',
  ].join('\n');
}

function tableLines(figures: readonly Figure[], { bold, dim, green, red }: Colors): string[] {
  const rows = figures.map((figure) => [
    figure.what,
    quantity(figure.figure, figure.unit),
    budgetText(figure.budget, figure.unit),
    figure.met ? 'met' : `missed${missedBy(figure)}`,
    plainText(figure),
  ]);
  const widths = HEADINGS.map((heading, i) => Math.max(heading.length, ...rows.map((row) => (row[i] ?? '').length)));
  const padded = (cells: readonly string[]) =>
    cells.map((cell, i) => (i === 1 || i === 2 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)));
  const lines = rows.map((row, i) => {
    const [what = '', figure = '', budget = '', result = '', plain = ''] = padded(row);
    const colour = figures[i]?.met ? green : red;
    return [what, bold(figure), budget, colour(result), plain.trimEnd()].join('  ');
  });
  return [dim(padded(HEADINGS).join('  ').trimEnd()), ...lines];
}

/** A note that several figures share is printed once, with the first of them. */
function noteLines(figures: readonly Figure[]): string[] {
  const said = new Set<string>();
  return figures.flatMap(({ what, note, details = {} }) => {
    const facts = Object.entries(details).map(([name, value]) => `${name} ${number(value)}`);
    const parts = [note, facts.join(' · ')].filter((part) => part !== undefined && part !== '' && !said.has(part));
    for (const part of parts) said.add(part ?? '');
    return parts.length > 0 ? [`${what}: ${parts.join('; ')}`] : [];
  });
}

function missedBy({ missed_by }: Figure): string {
  if (missed_by === undefined || !Number.isFinite(missed_by)) return '';
  return ` by ${missed_by < 0.1 ? (missed_by * 100).toFixed(1) : Math.round(missed_by * 100)} %`;
}

function plainText({ plain, ratio, unit }: Figure): string {
  if (plain === undefined) return '–';
  return `${quantity(plain, unit)}${ratio === undefined ? '' : `, ${number(ratio)} times as much`}`;
}

function budgetText({ max, min }: Figure['budget'], unit: string): string {
  return min === undefined ? `≤ ${quantity(max, unit)}` : `${number(min)}–${quantity(max, unit)}`;
}

function quantity(value: number, unit: string): string {
  return unit === '' ? number(value) : `${number(value)} ${unit}`;
}

/** Three significant digits below 1,000, a whole number from there on. */
function number(value: number | string): string {
  if (typeof value === 'string') return value;
  if (!Number.isFinite(value)) return 'not measured';
  return value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}
