import { useContext, useMemo } from 'preact/hooks';
import type { Series } from '../../../src/core/operator/views/outcome-series.ts';
import type { Overview } from '../../../src/operator-service/contract/overview.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { Chart, type ChartLine } from '../../parts/chart.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { count, duration } from '../../parts/time.tsx';

interface Plan {
  readonly title: string;
  readonly lines: readonly { readonly series: Series['name']; readonly name: string; readonly color: string }[];
  readonly format?: (value: number) => string;
}

const PLANS: readonly Plan[] = [
  {
    title: 'Attempts, by quarters of an hour',
    lines: [
      { series: 'delivered', name: 'Delivered', color: '--good' },
      { series: 'failed', name: 'Failed', color: '--bad' },
    ],
  },
  {
    title: 'Due in each sweep, and dead',
    lines: [
      { series: 'due', name: 'Due', color: '--busy' },
      { series: 'dead', name: 'Dead', color: '--bad' },
    ],
  },
  {
    title: 'Delay from due to the attempt',
    lines: [
      { series: 'delay_seconds', name: 'On average', color: '--accent' },
      { series: 'delay_p99_seconds', name: '99 of 100 sooner than', color: '--wait' },
    ],
    format: (seconds) => (seconds === 0 ? '0' : duration(seconds * 1000)),
  },
];

/** One chart per question; a chart without any figures is left out. */
export function Charts({ series, problem }: ChartsProps) {
  const session = useContext(SessionContext);
  const charts = useMemo(() => PLANS.flatMap((plan) => chartOf(plan, series) ?? []), [series]);
  if (charts.length === 0 && problem === undefined) return null;
  return (
    <section class="charts" aria-label="The last day">
      {charts.map((chart) => (
        <Chart key={chart.title} {...chart} />
      ))}
      {problem !== undefined && (
        <div class="chart panel" role="note">
          <h3>What was delivered in the last day is not known</h3>
          <p>{problem.detail}</p>
          <p>
            <strong>What to do:</strong> {problem.remedy}
          </p>
          <Shell label="What each sweep found" command={opsCommand('sweeps', session)} />
        </div>
      )}
    </section>
  );
}

interface ChartsProps {
  readonly series: readonly Series[];
  readonly problem: Overview['series_problem'];
}

function chartOf({ title, lines, format = count }: Plan, series: readonly Series[]) {
  const found = lines.flatMap((line) => {
    const points = series.find(({ name }) => name === line.series)?.points ?? [];
    return points.length === 0
      ? []
      : [{ ...line, at: new Map(points.map(({ at, value }) => [Date.parse(at) / 1000, value])) }];
  });
  if (found.length === 0) return undefined;
  const times = [...new Set(found.flatMap(({ at }) => [...at.keys()]))].sort((a, b) => a - b);
  const drawn = found.map(
    ({ name, color, at }): ChartLine => ({ name, color, values: times.map((time) => at.get(time) ?? null) }),
  );
  const sentences = drawn.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    return `${name}: ${format(known.at(-1) ?? 0)} at last, at most ${format(Math.max(0, ...known))}.`;
  });
  return { title, times, lines: drawn, format, summary: sentences.join(' ') };
}
