import { Cron } from 'croner';
import * as v from 'valibot';
import { check, explain } from './config-checks.ts';

const MINUTE = 60;
const DAY_MS = 86_400_000;
const UNIT_SECONDS = { minute: MINUTE, hour: 60 * MINUTE, day: 24 * 60 * MINUTE } as const;
/** Schedules are evaluated from a fixed time, so that the same configuration always gives the same template. */
const START = new Date('2026-01-01T00:00:00Z');

/** A schedule expression that EventBridge would refuse, or that never fires. The message says what would be right. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

/** The check of a setting that is an EventBridge expression. @param words allowed in its place */
export function schedule(...words: readonly string[]) {
  return check(
    v.pipe(
      v.string(explain('must be a schedule expression, such as cron(30 * * * ? *)')),
      v.rawCheck(({ dataset, addIssue }) => {
        if (!dataset.typed || words.includes(dataset.value)) return;
        try {
          sweepIntervalSeconds(dataset.value);
        } catch (error) {
          if (!(error instanceof ScheduleError)) throw error;
          addIssue({ message: error.message });
        }
      }),
    ),
  );
}

/**
 * Seconds between two sweeps of an EventBridge schedule: `rate(30 minutes)` or `cron(30 * * * ? *)`, in UTC.
 * For an uneven schedule it is the longest pause of a year: a lane with a backlog gets only the notifications that
 * became due within this time, so a shorter time would skip those of a long pause.
 * @throws ScheduleError
 */
export function sweepIntervalSeconds(expression: string): number {
  const [, kind, inner] = /^(rate|cron)\((.+)\)$/.exec(expression) ?? [];
  if (inner === undefined) {
    throw new ScheduleError(`must be cron(…) or rate(…), such as cron(30 * * * ? *), is ${JSON.stringify(expression)}`);
  }
  return kind === 'rate' ? rateSeconds(inner) : longestPauseSeconds(inner);
}

/** The longest delay of SQS (`MAX_DELAY_MS`). A sweep leaves the notifications that are due later to the next sweep. */
const AHEAD_MINUTES = 15;

/**
 * The schedule that queues ahead between sweeps, if these pause for longer than SQS can delay: each quarter of an hour,
 * counted from an hourly sweep, which queues ahead itself. Undefined if the sweeps suffice.
 */
export function lookaheadSchedule(sweeps: string): string | undefined {
  if (sweepIntervalSeconds(sweeps) <= AHEAD_MINUTES * MINUTE) return undefined;
  const [, minute] = /^cron\((\d+) \* /.exec(sweeps) ?? [];
  if (minute === undefined) return `cron(0/${AHEAD_MINUTES} * * * ? *)`;
  const minutes = [1, 2, 3].map((quarter) => (Number(minute) + quarter * AHEAD_MINUTES) % 60);
  return `cron(${minutes.sort((a, b) => a - b).join(',')} * * * ? *)`;
}

function rateSeconds(rate: string): number {
  const [, amount, unit, plural] = /^(\d+) (minute|hour|day)(s?)$/.exec(rate) ?? [];
  const count = Number(amount);
  if ((unit !== 'minute' && unit !== 'hour' && unit !== 'day') || count < 1 || (count === 1) !== (plural === '')) {
    throw new ScheduleError(
      `must be rate(1 minute), rate(2 minutes), … hour, hours, day or days, is ${JSON.stringify(`rate(${rate})`)}`,
    );
  }
  return count * UNIT_SECONDS[unit];
}

function longestPauseSeconds(fields: string): number {
  const runs = parseCron(fields);
  const first = runs.nextRun(START);
  if (first === null) throw new ScheduleError(`never fires: cron(${fields})`);

  // All days with runs have them at the same times, because UTC has no summer time. So one day shows the pauses within
  // a day, and the loop looks for the pauses between days only.
  const times = runsOfDay(runs, first);
  const last = times.at(-1) ?? first;
  let longest = 0;
  for (const [index, time] of times.entries()) {
    longest = Math.max(longest, time.getTime() - (times[index - 1] ?? time).getTime());
  }
  const horizon = first.getTime() + (everyDay(fields) ? 1 : 366) * DAY_MS;
  for (let end = last; end.getTime() < horizon; ) {
    const next = runs.nextRun(end);
    if (next === null) break;
    longest = Math.max(longest, next.getTime() - end.getTime());
    end = new Date(startOfDay(next) + (last.getTime() - startOfDay(last)));
  }
  if (longest === 0) throw new ScheduleError(`fires only once: cron(${fields})`);
  return longest / 1000;
}

function runsOfDay(runs: Cron, first: Date): Date[] {
  const times = [first];
  for (let time = runs.nextRun(first); time !== null; time = runs.nextRun(time)) {
    if (startOfDay(time) !== startOfDay(first)) break;
    times.push(time);
  }
  return times;
}

function everyDay(fields: string): boolean {
  return fields
    .split(' ')
    .slice(2)
    .every((field) => field === '*' || field === '?');
}

const startOfDay = (time: Date): number => Math.floor(time.getTime() / DAY_MS) * DAY_MS;

/** Translates EventBridge's six fields for croner: croner needs seconds first, and `*` instead of `?`. */
function parseCron(fields: string): Cron {
  const parts = fields.split(' ');
  const [minute, hour, dayOfMonth, month, dayOfWeek, year] = parts;
  if (parts.length !== 6 || (dayOfMonth === '?') === (dayOfWeek === '?')) {
    throw new ScheduleError(
      'must have six fields: minute, hour, day of month, month, day of week, year, with ? for exactly one of the ' +
        `days, such as cron(30 * * * ? *), is ${JSON.stringify(`cron(${fields})`)}`,
    );
  }
  // Croner takes more than EventBridge, of which CloudFormation would learn after minutes, and roll the stack back.
  const isForeign =
    [minute, hour, month, year].some((field) => field?.includes('?')) ||
    parts.some((field) => /(^|,)\//.test(field)) ||
    /[/8]|#.*,|,.*#/.test(dayOfWeek ?? '') ||
    /2[2-9]\d\d|[3-9]\d{3}/.test(year ?? '');
  if (isForeign) {
    throw new ScheduleError(
      `is not what EventBridge takes: cron(${fields}): ? is for a day only, a step follows a number or *, and not in ` +
        'days of the week, which are 1 to 7, only one of them with #; years end in 2199',
    );
  }
  const days = [dayOfMonth, dayOfWeek].map((day) => (day === '?' ? '*' : day));
  try {
    return new Cron(`0 ${minute} ${hour} ${days[0]} ${month} ${days[1]} ${year}`, {
      mode: '7-part',
      timezone: 'UTC',
      // In EventBridge, Sunday is 1, and 0/15 means "every 15 from 0".
      alternativeWeekdays: true,
      sloppyRanges: true,
      paused: true,
    });
  } catch (error) {
    throw new ScheduleError(`is not a cron expression: cron(${fields}): ${messageOf(error)}`, { cause: error });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
