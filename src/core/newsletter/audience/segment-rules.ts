import { parseTime } from '../../model/time.ts';
import { MEMBER_STATUSES } from '../model/member.ts';
import { SEGMENT_FIELDS, type Segment, type SegmentField, type SegmentTime } from './segment.ts';

/** A segment was refused. The message says what is wrong and what would be right. */
export class SegmentError extends Error {
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
  if (typeof value === 'object' && value !== null) return { field: 'created_at', test: operator, time: value };
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

function quoted(text: string): string {
  return JSON.stringify(text.length <= 50 ? text : `${text.slice(0, 49)}…`);
}
