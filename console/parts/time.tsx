import { useEffect, useState } from 'preact/hooks';

const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** How often relative times are brought up to date. */
const TICK_MS = 5_000;
const listeners = new Set<() => void>();
setInterval(() => {
  if (!document.hidden) for (const listener of listeners) listener();
}, TICK_MS);

function useTick(): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    const tick = () => setTick((count) => count + 1);
    listeners.add(tick);
    return () => {
      listeners.delete(tick);
    };
  }, []);
}

/** A time relative to now, with the exact one in the reader's zone and in UTC on hover and for screen readers. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  useTick();
  const time = at ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(time)) return <span class="faint">–</span>;
  return (
    <time dateTime={at ?? ''} title={exactTime(at ?? '')}>
      {relative(time - Date.now())}
    </time>
  );
}

function exactTime(at: string): string {
  const date = new Date(at);
  return `${EXACT.format(date)} · ${date.toISOString()}`;
}

/** The exact time in the reader's zone and words alone. */
export const localTime = (at: string): string => EXACT.format(new Date(at));

const EXACT = exactFormat();

/** A browser may name a locale that it does not know itself, such as `en-US@posix`. */
function exactFormat(): Intl.DateTimeFormat {
  const style = { dateStyle: 'medium', timeStyle: 'long' } as const;
  try {
    return new Intl.DateTimeFormat(undefined, style);
  } catch {
    return new Intl.DateTimeFormat('en-GB', style);
  }
}

/** `3 min ago`, `in 2 h`, `now` */
function relative(ms: number): string {
  const text = duration(Math.abs(ms));
  if (Math.abs(ms) < 1_000) return 'now';
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const unit = UNITS.find(({ ms: length }) => ms >= length) ?? { name: 's', ms: 1_000 };
  const count = ms / unit.ms;
  return `${unit.name === 's' && count < 10 && count % 1 !== 0 ? count.toFixed(1) : Math.floor(count)} ${unit.name}`;
}

export const about = (value: number): string => (value === 0 ? '0' : `≈ ${count(value)}`);

/** `1,234`, the same for every reader, so that a figure can be compared with a log. */
export const count = (value: number): string => value.toLocaleString('en-US');

/** As an input of the browser takes it: in the time zone of whoever looks. */
export function localInput(at: string | undefined): string | undefined {
  if (at === undefined) return undefined;
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
