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
export function planSlots(view: Registers, asks: readonly SlotAsk[], terms: SlotTerms): SlotsPlan {
  const jumps = jumpsOf(view, asks, terms);
  const rest = asks.filter((_, i) => jumps[i] === undefined);
  if (rest.length === asks.length) return planLines(view, asks, terms);
  const lines = rest.length > 0 ? planLines(view, rest, terms) : { steps: [], end: 0, slots: () => [] };
  return {
    steps: [...lines.steps, ...jumpSteps(view, asks, jumps, terms.now)],
    end: Math.max(lines.end, ...jumps.filter((at) => at !== undefined)),
    slots: (after) => {
      const given = lines.slots(after);
      let next = 0;
      return jumps.map((at) => (at === undefined ? given[next++] : undefined) ?? { at: at ?? 0, wait: true });
    },
  };
}

export interface SlotAsk {
  readonly lane: Lane;
  /** Who shares the receiver with others, eight hex digits; absent: nobody else may use it. */
  readonly tenant?: string;
}

interface SlotTerms {
  readonly now: number;
  readonly interval: number;
}

/** So far ahead of the others a tenant reserves for good, in milliseconds: later slots of its line others may take. */
const FAIR_MS = 5_000;
/** By this much a slot that is taken so is later than the one in whose place it is: its owner's is told from it. */
const JUMP_MS = 7;
/** Most such slots that a receiver remembers: its item stays below a kilobyte. */
const MOST_JUMPS = 24;
/** A slot is looked for among those that were taken for so long after it. */
const LATE_MS = 8_000;

/**
 * Where the line is longer than what a tenant may reserve ahead of the others, one who has not made it so takes a slot of it
 * five to ten seconds from now. Each second slot only: whose it was comes back to the end of the line.
 * @returns the time of each ask that does so
 */
function jumpsOf(view: Registers, asks: readonly SlotAsk[], { now, interval }: SlotTerms): (number | undefined)[] {
  const soonest = Math.max(now, numberIn(view, 'blocked_until') ?? 0) + FAIR_MS;
  const taken = { express: jumpsIn(view, 'express'), standard: jumpsIn(view, 'standard') };
  return asks.map(({ lane, tenant }) => {
    const end = numberIn(view, lane) ?? 0;
    if (tenant === undefined || end <= soonest || (leadsIn(view, lane).get(tenant) ?? 0) > soonest) return undefined;
    for (let n = Math.floor((end - soonest) / interval); n >= 1 && taken[lane].length < MOST_JUMPS; n--) {
      const at = Math.round(end - n * interval) + JUMP_MS;
      if (at > soonest + FAIR_MS) return undefined;
      if (Math.round(at / interval) % 2 === 1 || taken[lane].some((other) => Math.abs(at - other) < interval)) continue;
      taken[lane].push(at);
      return at;
    }
    return undefined;
  });
}

/** Only one worker at a time takes slots so: two would take the same. */
function jumpSteps(
  view: Registers,
  asks: readonly SlotAsk[],
  jumps: readonly (number | undefined)[],
  now: number,
): Step[] {
  const before = numberIn(view, 'jumps');
  const guard =
    before === undefined ? { at_most: -1, or_absent: true as const } : { at_least: before, at_most: before };
  const lists = LANES_OF_SLOTS.flatMap((lane): Step[] => {
    const own = jumps.filter((at, i) => at !== undefined && asks[i]?.lane === lane);
    const all = [...jumpsIn(view, lane).filter((at) => at > now - LATE_MS), ...own];
    return own.length === 0 ? [] : [{ name: `jumped_${lane}`, set: all.join() }];
  });
  return [{ name: 'jumps', set: (before ?? 0) + 1, guard }, ...lists];
}

const jumpsIn = (registers: Registers, lane: Lane): number[] =>
  String(registers[`jumped_${lane}`] ?? '')
    .split(',')
    .filter(Boolean)
    .map(Number);

/** The end of the line of each tenant that has reserved farther ahead than it may for good: `tenant:end`. */
function leadsIn(registers: Registers, lane: Lane): Map<string, number> {
  const leads = String(registers[`lead_${lane}`] ?? '')
    .split(',')
    .filter(Boolean);
  return new Map(leads.map((one) => [one.slice(0, one.indexOf(':')), Number(one.slice(one.indexOf(':') + 1))]));
}

/** Most tenants of which a receiver remembers that. */
const MOST_LEADS = 8;

function leadSteps(view: Registers, places: readonly (SlotAsk & { readonly end: number })[], now: number): Step[] {
  return LANES_OF_SLOTS.flatMap((lane): Step[] => {
    const before = leadsIn(view, lane);
    const leads = new Map(before);
    for (const { tenant, end, ...one } of places)
      if (tenant !== undefined && one.lane === lane && end > now + FAIR_MS) leads.set(tenant, Math.round(end));
    const kept = [...leads].filter(([, end]) => end > now + FAIR_MS).sort(([, a], [, b]) => b - a);
    const set = kept.slice(0, MOST_LEADS).map((one) => one.join(':'));
    return leads.size === 0 ? [] : [{ name: `lead_${lane}`, set: set.join() }];
  });
}

function planLines(view: Registers, asks: readonly SlotAsk[], { now, interval }: SlotTerms): SlotsPlan {
  const ends = { express: numberIn(view, 'express') ?? 0, standard: numberIn(view, 'standard') ?? 0 };
  const counts = { express: 0, standard: 0 };
  const places = asks.map((ask) => ({ ...ask, place: counts[ask.lane]++ }));
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
      ...leadSteps(
        view,
        places.map((one) => ({ ...one, end: starts[one.lane] + (one.place + 1) * interval })),
        now,
      ),
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

/** Whether an express message, or one of another tenant, goes at the time of a slot that was given before. */
export function isTaken(lane: Lane, at: number, registers: Registers, interval: number): boolean {
  const by_tenant = jumpsIn(registers, lane).some((other) => {
    const apart = Math.abs(at - other);
    return apart > ROUNDED_JUMP_MS && apart < interval / 2;
  });
  if (by_tenant || lane === 'express') return by_tenant;
  return runsIn(registers).some(([from, end]) => at > from - interval + ROUNDED_MS && at < end - ROUNDED_MS);
}

/** A worker's clock, and the row, keep a slot to the millisecond. */
const ROUNDED_JUMP_MS = 2;
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
