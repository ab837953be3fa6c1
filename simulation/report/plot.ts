import { PRIORITIES } from '../../src/core/model/channels.ts';
import type { Figures } from './figures.ts';

const WIDTH = 860;
const HEIGHT = 360;
const PLOT = { left: 78, right: 20, top: 46, bottom: 52 };
const [INNER_WIDTH, INNER_HEIGHT] = [WIDTH - PLOT.left - PLOT.right, HEIGHT - PLOT.top - PLOT.bottom];
/** Readable on white and on black: a middle grey for axes, and colours of middle lightness that the colour-blind tell apart. */
const GREY = '#7f7f7f';
const COLORS = ['#d55e00', '#b8860b', '#0a7fc2', '#009e73', '#8e63b8'];
const MOST_POINTS = 600;

/** Counts over time, stacked. */
export interface Plot {
  readonly title: string;
  /** From the top of the stack to its bottom. */
  readonly names: readonly string[];
  /** Seconds since the start, and a count for each name. */
  readonly samples: readonly { readonly at: number; readonly counts: readonly number[] }[];
}

/** The backlog by priority. */
export function backlogPlot({ scenario, notifications, seed, samples }: Figures): Plot {
  return {
    title: `${scenario}: notifications that wait, by priority (${notifications.toLocaleString('en')} in all, seed ${seed})`,
    names: PRIORITIES,
    samples: untilEmpty(samples.map(({ at, open }) => ({ at, counts: PRIORITIES.map((name) => open[name]) }))),
  };
}

/** An SVG picture. */
export function plotOf({ title, names, samples: all }: Plot): string {
  const samples = thinned(all);
  const last = Math.max(1, samples.at(-1)?.at ?? 1);
  const most = Math.max(1, ...samples.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0)));
  const x = (seconds: number) => PLOT.left + (seconds / last) * INNER_WIDTH;
  const y = (count: number) => PLOT.top + INNER_HEIGHT * (1 - count / most);
  const below = samples.map(() => 0);
  const areas = names
    .map((_, i) => i)
    .reverse()
    .map((place) => {
      const lower = samples.map(({ at }, i) => `${x(at).toFixed(1)},${y(below[i] ?? 0).toFixed(1)}`);
      const upper = samples.map(({ at, counts }, i) => {
        below[i] = (below[i] ?? 0) + (counts[place] ?? 0);
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
  const step = roundStep(most / 5, [1, 2, 5, 10]);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

/** Times at round distances: minutes, then hours. */
function hours(last: number): number[] {
  const step = [60, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600].find((one) => last / one <= 10) ?? 43_200;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}

function roundStep(least: number, digits: readonly number[]): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return Math.max(1, (digits.find((digit) => digit * power >= least) ?? 10) * power);
}

/** Cuts off the time in which nothing waits any more. */
function untilEmpty(samples: Plot['samples']): Plot['samples'] {
  const last = samples.findLastIndex(({ counts }) => counts.some((count) => count > 0));
  return samples.slice(0, last + 2);
}

function thinned(samples: Plot['samples']): Plot['samples'] {
  const every = Math.ceil(samples.length / MOST_POINTS);
  return samples.filter((_, i) => i % every === 0 || i === samples.length - 1);
}
