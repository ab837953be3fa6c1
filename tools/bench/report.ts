import { cpus } from 'node:os';
import { COLORS } from '../../src/terminal/printable.ts';
import { type Column, table } from '../../src/terminal/table.ts';
import type { Figure } from './figure.ts';

/** A benchmark that failed. */
export interface Failure {
  readonly benchmark: string;
  readonly error: string;
}

/** The output of `--json`. Keys are added, never removed. */
export type BenchReport = ReturnType<typeof reportOf>;

export function reportOf(started: Date, ended: Date, figures: readonly Figure[], failures: readonly Failure[]) {
  return {
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    started_at: started.toISOString(),
    seconds: Math.round((ended.getTime() - started.getTime()) / 1000),
    /** Whether every benchmark has run and every budget is met. */
    met: failures.length === 0 && figures.every(({ met }) => met),
    figures,
    failures,
  };
}

/** The report for people: a table, with notes and details below it. */
export function renderReport(report: BenchReport): string {
  const { figures, failures, seconds, cores, cpu, node } = report;
  const met = figures.filter((figure) => figure.met).length;
  return [
    ...tableLines(figures),
    '',
    ...noteLines(figures).map(COLORS.dim),
    ...failures.map(({ benchmark, error }) => COLORS.yellow(`${benchmark} was not measured: ${error}`)),
    '',
    `${met} of ${figures.length} budgets met, in ${seconds} s on ${cores} × ${cpu}, Node ${node}`,
    '',
  ].join('\n');
}

function tableLines(figures: readonly Figure[]): string[] {
  const columns: Column<Figure>[] = [
    ['', 'what'],
    ['figure', ({ figure, unit }) => quantity(figure, unit)],
    ['budget', ({ budget, unit }) => budgetText(budget, unit)],
    ['', (figure) => (figure.met ? 'met' : `missed${missedBy(figure)}`)],
    ['plain reading', plainText],
  ];
  const [heading = '', ...lines] = table(figures, columns).trimEnd().split('\n');
  return [heading, ...lines.map((line, i) => (figures[i]?.met ? line : COLORS.red(line)))];
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

function plainText({ plain, ratio, unit }: Figure): string | undefined {
  if (plain === undefined) return undefined;
  return `${quantity(plain, unit)}${ratio === undefined ? '' : `, ${number(ratio)} times as much`}`;
}

function budgetText({ max, min }: Figure['budget'], unit: string): string {
  return min === undefined ? `≤ ${quantity(max, unit)}` : `${number(min)}–${quantity(max, unit)}`;
}

const quantity = (value: number, unit: string): string => (unit === '' ? number(value) : `${number(value)} ${unit}`);

/** Three significant digits below 1,000, a whole number from there on. */
function number(value: number | string): string {
  if (typeof value === 'string') return value;
  if (!Number.isFinite(value)) return 'not measured';
  return value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}

/** A table of a document: bars stand with their cells. */
export function markdownTable(titles: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `|${cells.join(' |')}|\n`;
  return `${line(titles)}${line(titles.map(() => '---')).replaceAll(' ', '')}${rows.map(line).join('')}`;
}
