import type { Refused } from '../../core/delivery/ports.ts';
import { refusedByUs } from '../../core/model/error-types.ts';
import type { MessageFormat, NotificationContent } from '../../core/model/notification.ts';
import { ExplainedError } from '../../core/model/problem.ts';

type Converted<T> = { readonly ok: true; readonly value: T } | Refused;

/**
 * Converts the content into the form of its channel. Content that nests too deeply for the converters is refused: no
 * retry could convert it.
 * @throws any other error of the converter
 */
export async function convertContent<T>(
  content: NotificationContent,
  convert: (content: NotificationContent) => Promise<T>,
): Promise<Converted<T>> {
  const why = tooNested(content);
  if (why !== undefined) return refused(content, why);
  try {
    return { ok: true, value: await convert(content) };
  } catch (error) {
    if (error instanceof TooNestedError) return refused(content, error.message);
    // The converters are recursive, and JavaScript reports a full stack as RangeError.
    if (!(error instanceof Error) || error.name !== 'RangeError') throw error;
    return refused(content, 'exhausts the converter');
  }
}

const NAMES = { PLAIN: 'text', HTML: 'HTML', MARKDOWN: 'Markdown' } as const;

function refused({ format }: NotificationContent, why: string): Refused {
  return {
    ...refusedByUs('too_intricate', `the ${NAMES[format]} ${why}`),
    asked: false,
    details: { stage: 'conversion' },
  };
}

/** HTML with more tags open at once than are converted; its parser finds out on its way. */
export class TooNestedError extends ExplainedError {
  override readonly name = 'TooNestedError';
}

interface Limit {
  readonly what: string;
  readonly most: number;
  /** Counts it in a body, in time linear to the length of the body. */
  readonly measure: (body: string) => number;
}

/** Limits far above what a template writes, and below what fills the converters' stack or takes seconds. */
export const NESTING_LIMITS: Readonly<Record<MessageFormat, readonly Limit[]>> = {
  PLAIN: [],
  HTML: [],
  MARKDOWN: [
    {
      what: 'block quotes and lists opened by one line',
      most: 20,
      measure: (text) => greatest(text, /\n/, containers),
    },
    { what: 'columns before the item of a list', most: 120, measure: (text) => greatest(text, /\n/, indentation) },
    {
      what: 'marks of emphasis, code, links, images in a paragraph',
      most: 5_000,
      measure: (text) => greatest(text.replace(FENCED, ''), BETWEEN_PARAGRAPHS, marks),
    },
    {
      what: 'lines outside of code',
      most: 20_000,
      measure: (text) => text.replace(FENCED, '').match(/\S[^\n]*/g)?.length ?? 0,
    },
  ],
};

/** Says why a body must not be converted; undefined when it can be. */
export function tooNested({ body, format }: Pick<NotificationContent, 'body' | 'format'>): string | undefined {
  for (const { what, most, measure } of NESTING_LIMITS[format]) {
    const found = measure(body);
    if (found > most) return `has ${found} ${what}, over ${most}`;
  }
  return undefined;
}

const CONTAINERS = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)))*/;
const CONTAINER = />|[-+*]|\d{1,9}[.)]/g;
/** A line across the page, `* * *`. */
const RULE = /^(?:[-\s]*|[*\s]*)$/;
const LIST_ITEM = /^[ \t]*(?=(?:[-+*]|\d{1,9}[.)])[ \t])/;
/** A fenced code block: its marks have no meaning. */
const FENCED = /^ {0,3}```[^`\n]*\n[\s\S]*?^ {0,3}```/gm;
/** Before a blank line, the item of a list, a heading, or the row of a table. */
const BETWEEN_PARAGRAPHS = /\n(?=[ \t]*(?:\n|[-+*] |\d{1,9}[.)] |#|\|))/;
const MARKS = /\*+|_+|~+|`+|\[|!/g;

function greatest(text: string, separator: RegExp, measure: (part: string) => number): number {
  return text.split(separator).reduce((most, part) => Math.max(most, measure(part)), 0);
}

function containers(line: string): number {
  return RULE.test(line) ? 0 : (CONTAINERS.exec(line)?.[0].match(CONTAINER)?.length ?? 0);
}

const indentation = (line: string): number => LIST_ITEM.exec(line)?.[0].replaceAll('\t', '    ').length ?? 0;

const marks = (paragraph: string): number => paragraph.match(MARKS)?.length ?? 0;
