import * as v from 'valibot';
import {
  type Comparison,
  checkComparison,
  MAX_SEGMENT,
  type Operator,
  type Segment,
  SegmentError,
  TIME_UNITS,
} from '../../core/newsletter/audience/segment.ts';

/**
 * Reads a segment in NQL, Ghost's filter language. The parser is loaded on first use: it brings luxon with it, which a
 * function without segments does not need.
 * @param text absent or `all`: everyone
 * @throws SegmentError with a sentence that says what is wrong and what would be right
 */
export async function parseSegment(text: string | undefined): Promise<Segment | undefined> {
  if (text === undefined || text.trim() === 'all') return undefined;
  if (text.length > MAX_SEGMENT) throw new SegmentError(`A segment has at most ${MAX_SEGMENT} characters.`);
  const { default: nql } = await import('@tryghost/nql-lang');
  let filter: unknown;
  try {
    // Otherwise relative times become texts of another format, which have another order
    // (docs/decisions/newsletters/members-and-segments.md#0101).
    filter = nql.parse(text, { preserveRelativeDates: true });
  } catch (cause) {
    throw new SegmentError(syntaxMessage(cause, text), { cause });
  }
  return segmentOf(filter);
}

function syntaxMessage(cause: unknown, text: string): string {
  return (
    `The segment ${syntaxFault(cause, text)}: it is NQL, such as status:paid or label:'vip'+status:-free; ` +
    'single letters and texts with spaces or signs are quoted.'
  );
}

/** The parser's message has the text around the place, and below it a line that points there; its number is another's. */
function syntaxFault(cause: unknown, text: string): string {
  const [, around = '', pointer = ''] = cause instanceof Error ? cause.message.split('\n') : [];
  if (!/^-*\^/.test(pointer)) return 'cannot be read';
  const rest = around.slice(pointer.indexOf('^')).replace(/\.\.\.$/, '');
  return rest === '' ? 'ends too early' : `cannot be read from "${rest}${text.endsWith(rest) ? '' : '…'}" on`;
}

type Filter = Readonly<Record<string, unknown>>;

function segmentOf(filter: unknown): Segment {
  if (!isObject(filter)) throw new SegmentError('The segment compares nothing: name a field, such as status:paid.');
  const parts = Object.entries(filter).map(([key, value]): Segment => {
    if (key === '$and' && Array.isArray(value)) return { all: value.map(segmentOf) };
    if (key === '$or' && Array.isArray(value)) return { any: value.map(segmentOf) };
    // The parser's mark of brackets, which it forgets where they are doubled.
    if (key === 'yg') return segmentOf(value);
    return checkComparison(comparisonOf(key, value));
  });
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : { all: parts };
}

/** The comparisons of the parser's answer, which has the form of MongoDB's. */
const OPERATORS: Readonly<Record<string, Pick<Comparison, 'operator' | 'negated'>>> = {
  $ne: { operator: 'is', negated: true },
  $in: { operator: 'is', negated: false },
  $nin: { operator: 'is', negated: true },
  $gt: { operator: '>', negated: false },
  $gte: { operator: '>=', negated: false },
  $lt: { operator: '<', negated: false },
  $lte: { operator: '<=', negated: false },
  $regex: { operator: 'contains', negated: false },
  $not: { operator: 'contains', negated: true },
};

function comparisonOf(field: string, value: unknown): Comparison {
  const [[name = '', operand] = []] = isObject(value) ? Object.entries(value) : [];
  const operator = OPERATORS[name];
  if (operator === undefined) return { field, operator: 'is', negated: false, values: [operandOf(value)] };
  if (operand instanceof RegExp) return { field, negated: operator.negated, ...partOf(operand) };
  return { field, ...operator, values: (Array.isArray(operand) ? operand : [operand]).map(operandOf) };
}

/** The text of an expression that NQL made by escaping a text, with `^` before it or `$` after it. */
function partOf({ source }: RegExp): { operator: Operator; values: string[] } {
  const starts = source.startsWith('^');
  const ends = /(^|[^\\])(\\\\)*\$$/.test(source);
  const text = source.slice(starts ? 1 : 0, ends ? -1 : undefined).replace(/\\(.)/gsu, '$1');
  return { operator: starts ? 'starts' : ends ? 'ends' : 'contains', values: [text.normalize()] };
}

const relativeDate = v.object({
  $relativeDate: v.object({ op: v.picklist(['add', 'sub']), amount: v.number(), unit: v.picklist(TIME_UNITS) }),
});
const plain = v.union([v.string(), v.number(), v.boolean(), v.null()]);

function operandOf(value: unknown): Comparison['values'][number] {
  if (v.is(relativeDate, value)) {
    const { op, amount, unit } = value.$relativeDate;
    return { amount: op === 'add' ? amount : -amount, unit };
  }
  // As labels are stored.
  if (v.is(plain, value)) return typeof value === 'string' ? value.normalize() : value;
  throw new SegmentError('The segment compares a field with something that is neither text nor time.');
}

function isObject(value: unknown): value is Filter {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RegExp);
}
