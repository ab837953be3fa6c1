import { useEffect, useState } from 'preact/hooks';
import { count, locale, t } from '../language/language.ts';

const UNITS = [
  { ms: 86_400_000, says: (n: string) => t('{n} d', { n }) },
  { ms: 3_600_000, says: (n: string) => t('{n} h', { n }) },
  { ms: 60_000, says: (n: string) => t('{n} min', { n }) },
  { ms: 1_000, says: (n: string) => t('{n} s', { n }) },
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

const EXACT = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' });

/** `3 min ago`, `in 2 h`, `now` */
function relative(ms: number): string {
  const time = duration(Math.abs(ms));
  if (Math.abs(ms) < 1_000) return t('now');
  return ms > 0 ? t('in {time}', { time }) : t('{time} ago', { time });
}

export function duration(ms: number): string {
  if (ms < 1_000) return t('{n} ms', { n: Math.round(ms) });
  const { ms: length, says } = UNITS.find((unit) => ms >= unit.ms) ?? UNITS[3];
  const number = ms / length;
  return says(length === 1_000 && number < 10 && number % 1 !== 0 ? number.toFixed(1) : String(Math.floor(number)));
}

export const about = (value: number): string => (value === 0 ? '0' : `≈ ${count(value)}`);

/** As an input of the browser takes it: in the time zone of whoever looks. */
export function localInput(at: string | undefined): string | undefined {
  if (at === undefined) return undefined;
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
