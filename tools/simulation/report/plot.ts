const WIDTH = 860;
const HEIGHT = 360;
const PLOT = { left: 78, right: 20, top: 46, bottom: 52 };
const [INNER_WIDTH, INNER_HEIGHT] = [WIDTH - PLOT.left - PLOT.right, HEIGHT - PLOT.top - PLOT.bottom];
/** Readable on white and on black: a middle grey for axes, and colours of middle lightness that the colour-blind tell apart. */
const GREY = '#7f7f7f';
const COLORS = ['#d55e00', '#b8860b', '#0a7fc2', '#009e73', '#8e63b8'];
const MOST_POINTS = 600;

interface Plotted {
  readonly scenario: string;
  readonly notifications: number;
  readonly seed: number;
  /** Seconds since the start, and a count for each name. */
  readonly samples: readonly { readonly at: number; readonly counts: Readonly<Record<string, number>> }[];
}

/** Counts over time, stacked, as an SVG picture. @param what is counted @param names from the top of the stack to its bottom */
export function plotOf(
  { scenario, notifications, seed, samples: all }: Plotted,
  what: string,
  names: readonly string[],
): string {
  const title = `${scenario}: ${what} (${notifications.toLocaleString('en')} in all, seed ${seed})`;
  const total = ({ counts }: Plotted['samples'][number]) => names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  // Without the time in which nothing waits any more, and no more points than a picture shows.
  const until = all.slice(0, all.findLastIndex((sample) => total(sample) > 0) + 2);
  const every = Math.ceil(until.length / MOST_POINTS);
  const samples = until.filter((_, i) => i % every === 0 || i === until.length - 1);
  const last = Math.max(1, samples.at(-1)?.at ?? 1);
  const most = Math.max(1, ...samples.map(total));
  const x = (seconds: number) => PLOT.left + (seconds / last) * INNER_WIDTH;
  const y = (count: number) => PLOT.top + INNER_HEIGHT * (1 - count / most);
  const below = samples.map(() => 0);
  const areas = [...names.entries()].reverse().map(([place, name]) => {
    const lower = samples.map(({ at }, i) => `${x(at).toFixed(1)},${y(below[i] ?? 0).toFixed(1)}`);
    const upper = samples.map(({ at, counts }, i) => {
      below[i] = (below[i] ?? 0) + (counts[name] ?? 0);
      return `${x(at).toFixed(1)},${y(below[i] ?? 0).toFixed(1)}`;
    });
    return `<polygon fill="${COLORS[place]}" fill-opacity="0.75" points="${[...upper, ...lower.reverse()].join(' ')}"/>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12" fill="${GREY}">`,
    `<title>${title}</title>`,
    `<text x="${PLOT.left}" y="18" font-size="14">${title}</text>`,
    ...legend(names),
    ...ticks(most).map((count) => gridLine(count.toLocaleString('en'), y(count))),
    ...areas,
    ...hours(last).map((seconds) => timeTick(seconds, x(seconds))),
    `<path d="M${PLOT.left} ${PLOT.top}V${PLOT.top + INNER_HEIGHT}H${WIDTH - PLOT.right}" fill="none" stroke="${GREY}"/>`,
    `<text x="${PLOT.left + INNER_WIDTH / 2}" y="${HEIGHT - 12}" text-anchor="middle">time since the start (h:mm)</text>`,
    '</svg>\n',
  ].join('\n');
}

function legend(names: readonly string[]): string[] {
  return names.map((name, i) => {
    const at = PLOT.left + i * 110;
    return `<rect x="${at}" y="26" width="12" height="12" fill="${COLORS[i]}"/><text x="${at + 18}" y="36">${name}</text>`;
  });
}

function gridLine(label: string, at: number): string {
  return `<path d="M${PLOT.left} ${at.toFixed(1)}H${WIDTH - PLOT.right}" stroke="${GREY}" stroke-opacity="0.3"/><text x="${PLOT.left - 8}" y="${(at + 4).toFixed(1)}" text-anchor="end">${label}</text>`;
}

function timeTick(seconds: number, at: number): string {
  const minutes = String(Math.round((seconds % 3_600) / 60)).padStart(2, '0');
  return `<path d="M${at.toFixed(1)} ${PLOT.top + INNER_HEIGHT}v5" stroke="${GREY}"/><text x="${at.toFixed(1)}" y="${PLOT.top + INNER_HEIGHT + 19}" text-anchor="middle">${Math.floor(seconds / 3_600)}:${minutes}</text>`;
}

/** Three to six round numbers up to the largest. */
function ticks(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most / 5)));
  const step = Math.max(1, ([1, 2, 5].find((digit) => digit * power >= most / 5) ?? 10) * power);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

/** Times at round distances: minutes, then hours. */
function hours(last: number): number[] {
  const step = [60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600].find((one) => last / one <= 10) ?? 43_200;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}
