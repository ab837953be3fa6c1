import type { SegmentSubject } from '../model/member.ts';

/** The fields of a member that a segment may ask for, by the names that NQL may use for them. */
export const SEGMENT_FIELDS = {
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
export type SegmentTime = { readonly iso: string } | { readonly amount: number; readonly unit: TimeUnit };

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
