import { randomUUID } from 'node:crypto';
import { Cron } from 'croner';
import type { LocalPlan, SchedulePlan } from '../template/plan.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../template/references.ts';

const UNITS = { second: 1, minute: 60, hour: 3600, day: 86_400 } as const;

/** A parsed schedule expression: seconds between runs, or a cron pattern. */
export type Timing = { readonly everySeconds: number } | { readonly pattern: string };

/**
 * Parses `rate(5 minutes)` or `cron(30 * * * ? *)` as EventBridge does. It also accepts `rate(10 seconds)`, which AWS
 * does not know, because a local user wants to see sweeps soon.
 * @throws Error that quotes the expression and says what would be right
 */
export function parseSchedule(expression: string): Timing {
  const [, kind, inner = ''] = /^(rate|cron)\((.+)\)$/.exec(expression.trim()) ?? [];
  if (kind === 'rate') {
    const [, count, unit] = /^(\d+) (second|minute|hour|day)s?$/.exec(inner) ?? [];
    if (Number(count) > 0 && unit !== undefined) {
      return { everySeconds: Number(count) * UNITS[unit as keyof typeof UNITS] };
    }
  }
  if (kind === 'cron') {
    const fields = inner.split(/\s+/);
    const pattern = `0 ${fields.map((field) => (field === '?' ? '*' : field)).join(' ')}`;
    if (fields.length === 6 && isPattern(pattern)) return { pattern };
  }
  throw new Error(
    `The schedule ${JSON.stringify(expression)} is not one: write rate(5 minutes), rate(10 seconds) or ` +
      'cron(30 * * * ? *) with the fields minute, hour, day of month, month, day of week, year',
  );
}

/** Whole seconds between the next two runs after `from`, at least 1. */
export function secondsBetweenRuns(timing: Timing, from: Date): number {
  if ('everySeconds' in timing) return timing.everySeconds;
  const [first, second] = new Cron(timing.pattern, { ...CRON_OPTIONS, paused: true }).nextRuns(2, from);
  if (first === undefined || second === undefined) return 1;
  return Math.max(1, Math.round((second.getTime() - first.getTime()) / 1000));
}

/**
 * The timing of each schedule of the stack. The sweep's function is the one with the variable SWEEP_INTERVAL_SECONDS.
 * @param sweep replaces the schedule of the sweep, and removes the look-ahead between sweeps; other schedules are
 * unchanged
 */
export function timedSchedules(
  { schedules, functions }: Pick<LocalPlan, 'schedules' | 'functions'>,
  sweep: Timing | 'off' | undefined,
): { readonly schedule: SchedulePlan; readonly timing: Timing }[] {
  const sweeps = functions.filter(({ environment }) => environment['SWEEP_INTERVAL_SECONDS'] !== undefined);
  return schedules.flatMap((schedule) => {
    const given = sweeps.some(({ name }) => name === schedule.functionName) ? sweep : undefined;
    if (given === 'off' || (given !== undefined && schedule.input !== undefined)) return [];
    return [{ schedule, timing: given ?? parseSchedule(schedule.expression) }];
  });
}

/** Calls `fire` at every time of the schedule, with the event for its target. @returns a function that stops it */
export function startSchedule(
  plan: SchedulePlan,
  timing: Timing,
  fire: (functionName: string, event: string) => void,
): () => void {
  const run = () => fire(plan.functionName, JSON.stringify(plan.input ?? scheduledEvent(plan, new Date())));
  if ('everySeconds' in timing) {
    const timer = setInterval(run, timing.everySeconds * 1000);
    return () => clearInterval(timer);
  }
  const job = new Cron(timing.pattern, { ...CRON_OPTIONS }, run);
  return () => job.stop();
}

/** On EventBridge, Sunday is day 1. */
const CRON_OPTIONS = { mode: '7-part', timezone: 'UTC', alternativeWeekdays: true, sloppyRanges: true } as const;

function isPattern(pattern: string): boolean {
  try {
    return new Cron(pattern, { ...CRON_OPTIONS, paused: true }) instanceof Cron;
  } catch {
    return false;
  }
}

function scheduledEvent(plan: SchedulePlan, time: Date) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: LOCAL_ACCOUNT,
    time: time.toISOString().replace(/\.\d+Z$/, 'Z'),
    region: LOCAL_REGION,
    resources: [`arn:aws:events:${LOCAL_REGION}:${LOCAL_ACCOUNT}:rule/${plan.id}`],
    detail: {},
  };
}
