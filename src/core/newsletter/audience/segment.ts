import { ExplainedError } from '../../model/problem.ts';
import { parseTime } from '../../model/time.ts';
import { MEMBER_STATUSES, type SegmentSubject } from '../model/member.ts';

/** The fields of a member that a segment may ask for, by the names that NQL may use for them. */
const SEGMENT_FIELDS = {
  status: 'status',
  label: 'labels',
  labels: 'labels',
  newsletter: 'newsletters',
  newsletters: 'newsletters',
  member_id: 'member_id',
  created_at: 'created_at',
} as const;

export type SegmentField = (typeof SEGMENT_FIELDS)[keyof typeof SEGMENT_FIELDS];
type TextField = Exclude<SegmentField, 'created_at'>;
export const TIME_UNITS = ['seconds', 'minutes', 'hours', 'days', 'weeks', 'months', 'years'] as const;
type TimeUnit = (typeof TIME_UNITS)[number];

/** A time, or a distance from the time at which the segment is evaluated. */
type SegmentTime = { readonly iso: string } | { readonly amount: number; readonly unit: TimeUnit };

/** A checked expression over the fields of a member. */
export type Segment =
  | { readonly all: readonly Segment[] }
  | { readonly any: readonly Segment[] }
  | {
      readonly field: TextField;
      readonly test: 'is' | 'contains' | 'starts' | 'ends';
      /** One of them must fit. A field with several values fits if one of its values does. */
      readonly texts: readonly string[];
      readonly negated: boolean;
    }
  | { readonly field: 'created_at'; readonly test: '>' | '>=' | '<' | '<='; readonly time: SegmentTime };

/**
 * @param segment absent: everyone
 * @param at what relative times count from; the same for the whole of a preparation, so that an interruption changes
 *   nothing
 */
export function segmentMatcher(segment: Segment | undefined, at: Date): (member: SegmentSubject) => boolean {
  if (segment === undefined) return () => true;
  if ('all' in segment) {
    const parts = segment.all.map((part) => segmentMatcher(part, at));
    return (member) => parts.every((matches) => matches(member));
  }
  if ('any' in segment) {
    const parts = segment.any.map((part) => segmentMatcher(part, at));
    return (member) => parts.some((matches) => matches(member));
  }
  if (segment.field === 'created_at') {
    const fits = TIME_TESTS[segment.test];
    const time = isoOf(segment.time, at);
    return ({ created_at }) => fits(created_at, time);
  }
  const { field, texts, negated } = segment;
  const fits = TEXT_TESTS[segment.test];
  return (member) => {
    const values = typeof member[field] === 'string' ? [member[field]] : member[field];
    return texts.some((text) => values.some((value) => fits(value, text))) !== negated;
  };
}

/** The fields that decide whether a member matches. @param segment absent: everyone */
export function segmentFields(segment: Segment | undefined): ReadonlySet<SegmentField> {
  if (segment === undefined) return new Set();
  if ('field' in segment) return new Set([segment.field]);
  return new Set(('all' in segment ? segment.all : segment.any).flatMap((part) => [...segmentFields(part)]));
}

/** NQL compares parts of texts without regard to case, and whole texts exactly. */
const TEXT_TESTS = {
  is: (value: string, text: string) => value === text,
  contains: (value: string, text: string) => value.toLowerCase().includes(text.toLowerCase()),
  starts: (value: string, text: string) => value.toLowerCase().startsWith(text.toLowerCase()),
  ends: (value: string, text: string) => value.toLowerCase().endsWith(text.toLowerCase()),
};

/** Times of the same format (UTC, milliseconds) have the order of their texts. */
const TIME_TESTS = {
  '>': (a: string, b: string) => a > b,
  '>=': (a: string, b: string) => a >= b,
  '<': (a: string, b: string) => a < b,
  '<=': (a: string, b: string) => a <= b,
};

const UNIT_MS: Readonly<Partial<Record<TimeUnit, number>>> = {
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  weeks: 604_800_000,
};

/** A time beyond would have no year of four digits, and no preparation could compare it. */
const MOST_YEARS = 1_000;
const PER_YEAR: Readonly<Record<TimeUnit, number>> = {
  seconds: 31_622_400,
  minutes: 527_040,
  hours: 8_784,
  days: 366,
  weeks: 53,
  months: 12,
  years: 1,
};

function isoOf(time: SegmentTime, at: Date): string {
  if ('iso' in time) return time.iso;
  const { amount, unit } = time;
  const ms = UNIT_MS[unit];
  if (ms !== undefined) return new Date(at.getTime() + amount * ms).toISOString();
  const months = unit === 'years' ? amount * 12 : amount;
  const moved = new Date(at);
  moved.setUTCDate(1);
  moved.setUTCMonth(at.getUTCMonth() + months);
  // A month before 31 March is the last day of February.
  const lastDay = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(at.getUTCDate(), lastDay));
  return moved.toISOString();
}

/** A segment was refused. The message says what is wrong and what would be right. */
export class SegmentError extends ExplainedError {
  override readonly name = 'SegmentError';
}

/** Longest segment in characters. */
export const MAX_SEGMENT = 2_000;

export type Operator = 'is' | 'contains' | 'starts' | 'ends' | '>' | '>=' | '<' | '<=';

/** One comparison as it was written, before its field and values are checked. */
export interface Comparison {
  readonly field: string;
  readonly operator: Operator;
  readonly negated: boolean;
  /** Texts, numbers, true, false, null, or relative times. */
  readonly values: readonly (string | number | boolean | null | SegmentTime)[];
}

/** @throws SegmentError when the field is unknown, or cannot be compared in this way */
export function checkComparison({ field: name, operator, negated, values }: Comparison): Segment {
  const field = fieldOf(name);
  if (field === 'created_at') return timeComparison({ operator, negated, values });
  if (operator === '>' || operator === '>=' || operator === '<' || operator === '<=') {
    throw new SegmentError(`${name} has no order: compare it with ${name}:value or ${name}:-value.`);
  }
  const texts = values.map((value) => textOf(value, name));
  const unknown = texts.find((text) => !MEMBER_STATUSES.some((status) => status === text));
  if (field === 'status' && operator === 'is' && unknown !== undefined) {
    throw new SegmentError(`A member has no status ${quoted(unknown)}: it is ${MEMBER_STATUSES.join(', ')}.`);
  }
  return { field, test: operator, texts, negated };
}

function fieldOf(name: string): SegmentField {
  const known = Object.entries(SEGMENT_FIELDS).find(([alias]) => alias === name);
  if (known !== undefined) return known[1];
  const fields = [...new Set(Object.values(SEGMENT_FIELDS))].join(', ');
  throw new SegmentError(`A segment cannot ask for ${quoted(name)}: the fields of a member are ${fields}.`);
}

function timeComparison({ operator, negated, values: [value] }: Omit<Comparison, 'field'>): Segment {
  if (negated || (operator !== '>' && operator !== '>=' && operator !== '<' && operator !== '<=')) {
    throw new SegmentError(
      "created_at is compared with >, >=, < or <=: created_at:>'2026-01-31' or created_at:>now-30d.",
    );
  }
  if (typeof value === 'object' && value !== null) {
    if ('unit' in value && Math.abs(value.amount) > MOST_YEARS * PER_YEAR[value.unit]) {
      throw new SegmentError(`created_at reaches at most ${MOST_YEARS} years from now: write now-${MOST_YEARS}y.`);
    }
    return { field: 'created_at', test: operator, time: value };
  }
  const day = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T00:00:00Z` : value;
  const time = typeof day === 'string' ? parseTime(day) : undefined;
  if (time === undefined) {
    throw new SegmentError("created_at needs a time: '2026-01-31', '2026-01-31T09:00:00Z' or now-30d.");
  }
  return { field: 'created_at', test: operator, time: { iso: time.toISOString() } };
}

/** NQL turns 007 into 7, so a text that looks like a number, true, false or null must be quoted. */
function textOf(value: Comparison['values'][number], name: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null) throw new SegmentError(`${name} is no time: compare created_at.`);
  throw new SegmentError(`${name} is a text: write the value in quotes, ${name}:'${String(value)}'.`);
}

const quoted = (text: string): string => JSON.stringify(text.length <= 50 ? text : `${text.slice(0, 49)}…`);
