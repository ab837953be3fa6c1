import type { Lane } from '../model/channels.ts';
import type { NotificationRow } from '../model/notification.ts';
import { jsonObject } from '../model/text.ts';
import { epochMs } from '../model/time.ts';
import { LOOK_AHEAD_MS } from './pacing-policy.ts';
import { numberIn, type Registers, type Step } from './registers.ts';

/** The slot of one message, epoch milliseconds; `wait`: it is too far away to wait for it inside the function. */
export interface Slot {
  readonly at: number;
  readonly wait: boolean;
}

export interface SlotsPlan {
  readonly steps: readonly Step[];
  /** About the last slot. */
  readonly end: number;
  /** The slots in the order of the asks, once the steps are applied. */
  slots(after: Registers): Slot[];
}

/**
 * Plans the next slots at a receiver, 1 / rate apart, from a view of its registers that may be old: `express` and
 * `standard` are the ends of what was given to each lane, `blocked_until` is what the receiver asked for. A message whose
 * slot is far away is held until then, and does not reserve again. `express` goes before what waits in the other lane:
 * held messages look whether it took their slots, those that wait inside a function have theirs within the look-ahead.
 */
export function planSlots(
  view: Registers,
  asks: readonly { readonly lane: Lane }[],
  { now, interval }: { readonly now: number; readonly interval: number },
): SlotsPlan {
  const ends = { express: numberIn(view, 'express') ?? 0, standard: numberIn(view, 'standard') ?? 0 };
  const counts = { express: 0, standard: 0 };
  const places = asks.map(({ lane }) => ({ lane, place: counts[lane]++ }));
  const free = Math.max(now, numberIn(view, 'blocked_until') ?? 0);
  const soonest = Math.max(free, Math.min(ends.standard, now + LOOK_AHEAD_MS.receiver));
  // In the place of one slot of the other lane: between two of them, it would take both.
  const ahead = Math.max(0, Math.floor((ends.standard - soonest) / interval));
  const express = Math.max(ends.express, ahead > 0 ? ends.standard - ahead * interval : soonest);
  const behind = counts.express > 0 ? express + counts.express * interval : ends.express;
  const starts = { express, standard: Math.max(free, ends.standard, behind) };
  const lanes = LANES_OF_SLOTS.filter((lane) => counts[lane] > 0);
  return {
    steps: [
      ...lanes.map((lane) => stepOf(lane, ends[lane], starts[lane], counts[lane] * interval)),
      ...(counts.express > 0 ? [takenStep(view, express, counts.express * interval, now - interval)] : []),
    ],
    end: Math.max(...lanes.map((lane) => starts[lane] + counts[lane] * interval)),
    slots: (after) =>
      places.map(({ lane, place }) => {
        const end = numberIn(after, lane) ?? starts[lane] + counts[lane] * interval;
        const at = end - (counts[lane] - place) * interval;
        return { at, wait: at > now + LOOK_AHEAD_MS.receiver };
      }),
  };
}

/** When express messages go lately and soon: `from-end`, epoch milliseconds, once per run of slots without a gap. */
const TAKEN = 'express_taken';

function takenStep(view: Registers, from: number, by: number, since: number): Step {
  const runs = runsIn(view).filter(([, end]) => end > since);
  const last = runs.at(-1);
  const isNext = last !== undefined && from - last[1] < 1;
  const all = isNext ? [...runs.slice(0, -1), [last[0], from + by]] : [...runs, [from, from + by]];
  return { name: TAKEN, set: all.map((run) => run.map(Math.round).join('-')).join() };
}

function runsIn(registers: Registers): (readonly [from: number, end: number])[] {
  const runs = String(registers[TAKEN] ?? '')
    .split(',')
    .filter(Boolean);
  return runs.map((run) => run.split('-').map(Number)).map(([from = 0, end = 0]) => [from, end] as const);
}

/** Whether an express message goes at the time of a slot that the other lane was given before. */
export function isTaken(at: number, registers: Registers, interval: number): boolean {
  return runsIn(registers).some(([from, end]) => at > from - interval + ROUNDED_MS && at < end - ROUNDED_MS);
}

/** Slots are kept in rows as whole milliseconds. */
const ROUNDED_MS = 5;

const LANES_OF_SLOTS = ['express', 'standard'] as const satisfies readonly Lane[];
/** More than a sum of times may be off by, as floating-point numbers (docs/decisions/measured/cpu-and-rate.md#0167). */
const ROUNDING_MS = 0.01;

/** A line that is in use goes on where it is; others may have made it longer. */
function stepOf(lane: Lane, end: number, start: number, by: number): Step {
  return end < start
    ? { name: lane, set: start + by, guard: { at_most: start, or_absent: true } }
    : { name: lane, add: by, base: start, guard: { at_least: end - ROUNDING_MS } };
}

/** A held message comes early by this time, as SQS delays by whole seconds, and waits the rest inside the function. */
export const AHEAD_MS = 1_000;

/**
 * What the last try left in the row: the slot that its message was held for, or that the receiver refused it. A refusal
 * describes its attempt in the row, a hold does not.
 */
export function earlierTry(row: NotificationRow): { readonly slot?: number; readonly refused?: true } {
  if (row.error_type !== 'RATE_LIMITED') return {};
  if (jsonObject(row.error_details ?? '')?.['attempt'] === row.last_attempt - 1) return { refused: true };
  return row.work_at === undefined ? {} : { slot: epochMs(row.work_at) + AHEAD_MS };
}
