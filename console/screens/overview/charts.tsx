import { useEffect, useId, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Overview } from '../../../src/application/contract/overview.ts';
import type { Series } from '../../../src/core/operator/views/outcome-series.ts';
import { count, said, t } from '../../language/language.ts';
import { Ops } from '../../parts/shell-command.tsx';
import { duration } from '../../parts/time.tsx';

interface Plan {
  readonly title: string;
  /** The title when only one of the lines has figures. */
  readonly alone?: Partial<Readonly<Record<Series['name'], string>>>;
  readonly lines: readonly { readonly series: Series['name']; readonly name: string; readonly color: string }[];
  readonly format?: (value: number) => string;
  /** What it says in words; by default the last figure of each line, and the highest. */
  readonly says?: (series: readonly Series[]) => string;
}

const PLANS: readonly Plan[] = [
  {
    title: t('Attempts, by quarters of an hour'),
    lines: [
      { series: 'delivered', name: t('Delivered'), color: '--good' },
      { series: 'failed', name: t('Failed'), color: '--bad' },
    ],
  },
  {
    // Of the series that there are: without monitoring nobody counts the dead.
    title: t('Due in each sweep, and dead'),
    alone: { due: t('Due in each sweep'), dead: t('Dead') },
    lines: [
      { series: 'due', name: t('Due'), color: '--busy' },
      { series: 'dead', name: t('Dead'), color: '--bad' },
    ],
  },
  {
    title: t('Delay from due to the attempt'),
    lines: [
      { series: 'delay_seconds', name: t('Average'), color: '--accent' },
      { series: 'delay_p99_seconds', name: 'p99', color: '--wait' },
    ],
    format: (seconds) => (seconds === 0 ? '0' : duration(seconds * 1000)),
  },
  {
    title: t('Outcomes told to producers'),
    lines: [{ series: 'outcomes', name: t('Told'), color: '--accent' }],
    says: outcomesTold,
  },
];

/** How many there were, and how late the bus got them. */
function outcomesTold(series: readonly Series[]): string {
  const valuesOf = (name: Series['name']) =>
    series.find((one) => one.name === name)?.points.map(({ value }) => value) ?? [];
  const lag = valuesOf('outcomes_lag_seconds');
  const late = (seconds: number | undefined = 0) => duration(Math.max(1, seconds) * 1000);
  const told = valuesOf('outcomes').reduce((sum, value) => sum + value, 0);
  return t('{n} in the last day, the last within {last}, all within {all}.', {
    n: count(told),
    last: late(lag.at(-1)),
    all: late(Math.max(...lag)),
  });
}

/** One chart per question; a chart without any figures is left out. */
export function Charts({ series, problem }: ChartsProps) {
  const charts = useMemo(() => PLANS.flatMap((plan) => chartOf(plan, series) ?? []), [series]);
  if (charts.length === 0 && problem === undefined) return null;
  return (
    <section class="charts" aria-label={t('The last day')}>
      {charts.map((chart) => (
        <Chart key={chart.title} {...chart} />
      ))}
      {problem !== undefined && (
        <div class="chart panel" role="note">
          <h3>{t('What was delivered in the last day is not known')}</h3>
          <p>{said(problem.detail)}</p>
          <p>
            <strong>{t('What to do:')}</strong> {said(problem.remedy)}
          </p>
          <Ops label={t('What each sweep found')} command="sweeps" />
        </div>
      )}
    </section>
  );
}

interface ChartsProps {
  readonly series: readonly Series[];
  readonly problem: Overview['series_problem'];
}

function chartOf({ title, alone, lines, format = count, says }: Plan, series: readonly Series[]) {
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
    const [last, most] = [format(known.at(-1) ?? 0), format(Math.max(0, ...known))];
    return t('{name}: {last} at last, at most {most}.', { name, last, most });
  });
  const [only, ...others] = found;
  const shown = (others.length === 0 && only !== undefined && alone?.[only.series]) || title;
  return { title: shown, times, lines: drawn, format, summary: says?.(series) ?? sentences.join(' ') };
}

interface ChartLine {
  readonly name: string;
  /** A custom property of the styles, such as `--good`. */
  readonly color: string;
  /** One value per time; null: nothing was measured. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  /** One sentence that says what the lines show: the chart for whoever does not see it. */
  readonly summary: string;
  /** Epoch seconds, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly format?: (value: number) => string;
}

const HEIGHT = 168;

/** Lines over time. The same figures are in a table below, closed until somebody opens it. */
function Chart({ title, summary, times, lines, format = count }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const heading = useId();
  const text = useId();
  useEffect(() => {
    const element = box.current;
    if (element === null || times.length === 0) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(
        options(element, lines, format),
        [times.slice(), ...lines.map(({ values }) => values.slice())],
        element,
      );
    };
    draw();
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('console:theme', draw);
    scheme.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      removeEventListener('console:theme', draw);
      scheme.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [times, lines]);
  return (
    <figure class="chart panel" aria-labelledby={heading} aria-describedby={text}>
      <header>
        <h3 id={heading}>{title}</h3>
        <ul class="soft small line">
          {lines.map(({ name, color }) => (
            <li key={name}>
              <span class="legend-mark" style={{ background: `var(${color})` }} aria-hidden="true" />
              {name}
            </li>
          ))}
        </ul>
      </header>
      <div ref={box} class="plot" aria-hidden="true" />
      <figcaption id={text} class="faint small">
        {summary}
      </figcaption>
    </figure>
  );
}

function options(element: HTMLElement, lines: readonly ChartLine[], format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => resolved(element, style.getPropertyValue(name));
  const axis = {
    stroke: color('--text-faint'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    padding: [8, 20, 0, 0],
    // Always the whole day: few points would otherwise look like many, or like none.
    scales: { x: { range: lastDay }, y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, ticks) => ticks.map(clock) },
      { ...axis, size: 44, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: color(line.color),
        fill: `color-mix(in srgb, ${color(line.color)} 12%, transparent)`,
        width: 1.75,
        // The lines of a chart may have different times: each of them goes on to its own next point.
        spanGaps: true,
        points: { show: line.values.filter((value) => value !== null).length < 30, size: 4, fill: color(line.color) },
      })),
    ],
  };
}

/** A canvas does not know `light-dark()`: the browser resolves it on an element. */
function resolved(element: HTMLElement, value: string): string {
  const before = element.style.color;
  element.style.color = value;
  const color = getComputedStyle(element).color;
  element.style.color = before;
  return color;
}

function lastDay(): [number, number] {
  const now = Date.now() / 1000;
  return [now - 86_400, now];
}

function clock(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${String(date.getHours()).padStart(2, '0')}:${String(date.getMinutes()).padStart(2, '0')}`;
}
