import { useEffect, useId, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { count } from './time.tsx';

export interface ChartLine {
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
export function Chart({ title, summary, times, lines, format = count }: ChartProps) {
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
        <ul class="legend">
          {lines.map(({ name, color }) => (
            <li key={name}>
              <span class="legend-mark" style={{ background: `var(${color})` }} aria-hidden="true" />
              {name}
            </li>
          ))}
        </ul>
      </header>
      <div ref={box} class="plot" aria-hidden="true" />
      <figcaption id={text}>{summary}</figcaption>
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
