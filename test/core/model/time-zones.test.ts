import { describe, expect, it } from 'vitest';
import { parseTime } from '../../../src/core/model/time.ts';

const HOUR_MS = 3_600_000;
const FROM = Date.UTC(2020, 0, 1);
const TO = Date.UTC(2031, 0, 1);
/** All with ZONES=all: eight seconds of CPU. */
const ALL = Intl.supportedValuesOf('timeZone');
const ODD = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Antarctica/Troll', 'Africa/Casablanca'];
const ZONES = process.env['ZONES'] === 'all' ? ALL : [...ODD, ...ALL.filter((_, i) => i % 29 === 0)];

/** What clocks of a zone show, as the platform formats it; as if it were UTC. */
function clockOf(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en', {
    ...{ timeZone, hourCycle: 'h23', calendar: 'gregory' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  return (ms) => {
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

/** The first millisecond of each new offset. Two changes within ten days would hide each other; no zone has had them. */
function transitionsOf(clock: (ms: number) => number): number[] {
  const offset = (ms: number) => clock(ms) - ms;
  const found: number[] = [];
  for (let at = FROM; at < TO; at += 240 * HOUR_MS) {
    let [low, high] = [at, at + 240 * HOUR_MS];
    if (offset(low) === offset(high)) continue;
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000;
      if (offset(middle) === offset(at)) low = middle;
      else high = middle;
    }
    found.push(high);
  }
  return found;
}

/** A time of clocks, in the table document's form. */
const written = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

describe('a time without a zone, by the rules of its zone', () => {
  let transitions = 0;
  it.each(ZONES)('is the first that its clocks show, or as if they were not changed: %s', (zone) => {
    const clock = clockOf(zone);
    const expectRead = (shown: number, time: number) => {
      const read = parseTime(written(shown), zone);
      if (read?.getTime() !== time) expect([written(shown), read]).toEqual([written(shown), new Date(time)]);
    };
    for (const at of transitionsOf(clock)) {
      transitions += 1;
      const [old, now] = [clock(at - 1_000) - (at - 1_000), clock(at) - at];
      const [low, high] = [at + Math.min(old, now), at + Math.max(old, now)];
      // Repeated or missing: clocks show these times twice, or never.
      for (let shown = low; shown < high; shown += (high - low) / 6) {
        expectRead(shown, shown - old);
        if (old > now) expect([clock(shown - old), clock(shown - now)]).toEqual([shown, shown]);
        else expect(clock(shown - old)).not.toBe(shown);
      }
      for (const hours of [0.5, 1, 2, 5, 11, 14, 23, 25]) {
        expectRead(low - hours * HOUR_MS, low - hours * HOUR_MS - old);
        expectRead(high + hours * HOUR_MS, high + hours * HOUR_MS - now);
        expect(clock(high + hours * HOUR_MS - now)).toBe(high + hours * HOUR_MS);
      }
    }
  });

  it('has been tried at changes of clocks', () => expect(transitions).toBeGreaterThan(60));
});
