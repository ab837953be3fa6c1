import type { FieldFault } from '../../model/problem.ts';
import type { Recipient } from './batch.ts';
import type { EmailContent } from './email.ts';
import { addressesIn, type Within, withinOf } from './merge-field-addresses.ts';

/** Fields of a member that a subject or a body may name in braces: `{name}`, or `{name, "there"}` with a fallback. */
const MERGE_FIELDS = ['name', 'first_name', 'email', 'member_id', 'unsubscribe_url'] as const;
export type MergeField = (typeof MERGE_FIELDS)[number];

export interface MergeUse {
  readonly field: string;
  /** What stands there for a member without a value. */
  readonly fallback?: string;
  /** The address whose part the value is: it is percent-encoded there. */
  readonly within?: Within;
}

/** A text as it is sent: parts that are the same for all members, and uses of fields. */
export type Pieces = readonly (string | MergeUse)[];

/** What stands in braces in a source: the use of a field, or the text that doubled braces show. */
export interface InBraces {
  /** Place in the source. */
  readonly start: number;
  readonly end: number;
  readonly value: MergeUse | { readonly shown: string; readonly within?: Within };
}

/** How a source is written: what is an address in it, and what a backslash means. */
export type SourceFormat = EmailContent['format'] | 'subject';

const BRACES = /(?<!\{)(\{+)([^{}]*)(\}+)/g;
const USE = /^([a-z_]+)(?:,\s*"([^"]*)")?$/;

/**
 * The fields of a source, each once, where it stands. They are looked for nowhere else: what braces are in a value, in an
 * entity or in the name of a newsletter is text. Doubled braces around what would be a field show single ones.
 */
export function fieldsIn(source: string, format: SourceFormat): readonly InBraces[] {
  if (!source.includes('{')) return [];
  const addresses = format === 'subject' ? [] : addressesIn(source, format);
  let next = 0;
  return bracesIn(source, format).flatMap(({ start, end, depth, inner }): InBraces[] => {
    while ((addresses[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next += 1;
    const [, field = '', fallback] = USE.exec(inner) ?? [];
    const within = withinOf(addresses[next], start, field === 'unsubscribe_url');
    if (depth > 1) {
      const shown = '{'.repeat(depth - 1) + inner + '}'.repeat(depth - 1);
      const value = { shown, ...(within !== undefined && { within }) };
      return field !== '' || misspelt(inner) !== undefined ? [{ start, end, value }] : [];
    }
    if (!isMergeField(field)) return [];
    const value = { field, ...(fallback !== undefined && { fallback }), ...(within !== undefined && { within }) };
    return [{ start, end, value }];
  });
}

interface Braces {
  readonly start: number;
  readonly end: number;
  /** How many there are on each side. */
  readonly depth: number;
  readonly inner: string;
}

/**
 * What is wrong with a field that is in no source, but in what became of it: there was markup between its braces, and it
 * would arrive as it is written. Another word between braces is text.
 */
export function misuseBehindMarkup(text: string, format: SourceFormat): string | undefined {
  for (const { depth, inner } of bracesIn(text, format)) {
    const [whole, field = ''] = depth === 1 ? (USE.exec(inner) ?? []) : [];
    const right = 'with nothing else between its braces';
    const misuse = isMergeField(field) ? { shown: `{${field}}`, right: `{${whole}} ${right}` } : misspelt(inner);
    if (misuse !== undefined && depth === 1) return sentenceOf(misuse);
  }
  return undefined;
}

/** Braces with as many on one side as on the other; a backslash before them makes them text in Markdown. */
function bracesIn(source: string, format: SourceFormat): readonly Braces[] {
  return [...source.matchAll(BRACES)].flatMap(({ index, 0: whole, 1: open = '', 2: inner = '', 3: close = '' }) => {
    if (open.length !== close.length || (format === 'markdown' && isEscaped(source, index))) return [];
    return [{ start: index, end: index + whole.length, depth: open.length, inner }];
  });
}

function isEscaped(source: string, at: number): boolean {
  let backslashes = 0;
  while (source[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}

/** A text without markup, with its fields. */
export function piecesOf(source: string, format: 'subject' | 'text'): Pieces {
  const pieces: (string | MergeUse)[] = [];
  let at = 0;
  for (const { start, end, value } of fieldsIn(source, format)) {
    pieces.push(source.slice(at, start), 'field' in value ? value : value.shown);
    at = end;
  }
  return [...pieces, source.slice(at)].filter((piece) => piece !== '');
}

/** What of a text is the same for all members. */
export const withoutFields = (pieces: Pieces): string => pieces.filter((piece) => typeof piece === 'string').join('');

/** The uses of merge fields, each once, in the order of their first appearance. */
export function usesOf(pieces: Pieces): readonly MergeUse[] {
  const uses = new Map<string, MergeUse>();
  for (const piece of pieces) if (typeof piece !== 'string') uses.set(JSON.stringify(piece), piece);
  return [...uses.values()];
}

type Post = Pick<EmailContent, 'subject' | 'body' | 'format'> & { readonly preheader?: string | undefined };

/** The fields that a post uses, each use once. */
export function mergeUses({ subject, preheader = '', body, format }: Post) {
  const found = [...fieldsIn(subject, 'subject'), ...fieldsIn(preheader, 'subject'), ...fieldsIn(body, format)];
  return usesOf(found.flatMap(({ value }) => ('field' in value ? [value] : [])));
}

const isMergeField = (field: string): field is MergeField => MERGE_FIELDS.some((known) => known === field);

/** Values of a member's merge fields; those that it lacks are absent. `unsubscribe_url` is added when it is sent. */
export function mergeValues(recipient: Recipient): Readonly<Partial<Record<MergeField, string>>> {
  const name = recipient.member_name?.trim();
  const first_name = name?.split(/\s+/)[0];
  return {
    email: recipient.member_email,
    member_id: recipient.member_id,
    ...(name && { name }),
    ...(first_name && { first_name }),
  };
}

/** Fields without fallback that the member has no value for. */
export function missingFields(uses: readonly MergeUse[], recipient: Recipient): readonly MergeField[] {
  if (uses.length === 0) return [];
  const values: Readonly<Record<string, string | undefined>> = { ...mergeValues(recipient), unsubscribe_url: '-' };
  const missing = uses.flatMap(({ field, fallback }) =>
    fallback === undefined && isMergeField(field) && values[field] === undefined ? [field] : [],
  );
  return [...new Set(missing)];
}

export interface MergeFieldRefusal {
  readonly message: string;
  readonly errors: readonly FieldFault[];
}

/** A fault of one text. Faults with the same rule are named together. */
interface Misuse {
  readonly shown: string;
  /** What is right; absent for a field that is like none. */
  readonly right?: string;
}

const FIELDS = MERGE_FIELDS.map((field) => `{${field}}`).join(', ');

/** What stands in single braces: a name, and what follows it behind a comma or a bar; a fallback may be on a new line. */
const NAMED = /^([^\n,|][^,|]{0,79})(?:([,|])(?:[^\n]*|\s*["'“”„«‘’][^{}]*))?$/;
/** What editors write for the blanks and breaks that they allow. */
const BLANKS = /&(?:nbsp|ensp|emsp|thinsp|shy|zwnj|zwj|#x?[\da-f]+);|[\s\p{Cf}]+/giu;

/** A field in an address whose braces a template's compiler has encoded: it would arrive as it is written. */
const ENCODED = /%7B([a-z_]{1,40})(?:,(?:(?!%7D)[^\s"'<>]){0,200})?%7D/gi;

/**
 * Why a post cannot be sent: it names a field that does not exist, or one that does in a form that would arrive as it is
 * written, such as `{Name}` or `{name, “you”}` with the quotes of a word processor.
 */
export function mergeFieldRefusal({ subject, preheader = '', body, format }: Post): MergeFieldRefusal | undefined {
  const found = [
    ...misusesIn(subject, 'subject').map((misuse) => ({ path: 'subject', misuse })),
    ...misusesIn(preheader, 'subject').map((misuse) => ({ path: 'preheader', misuse })),
    ...misusesIn(body, format).map((misuse) => ({ path: 'body', misuse })),
  ];
  if (found.length === 0) return undefined;
  const errors = found.map(({ path, misuse }) => ({ path, rule: 'merge-field', message: sentenceOf(misuse) }));
  const unknown = found.flatMap(({ misuse: { shown, right } }) => (right === undefined ? [shown] : []));
  const misspelt = found.flatMap(({ misuse }) => (misuse.right === undefined ? [] : [sentenceOf(misuse)]));
  const sentences = [...(unknown.length > 0 ? [unknownSentence([...new Set(unknown)])] : []), ...new Set(misspelt)];
  return { message: sentences.join(' '), errors };
}

/** Those of a name that is like none come first. */
function misusesIn(text: string, format: SourceFormat): readonly Misuse[] {
  const misuses = new Map<string, Misuse>();
  for (const { depth, inner } of bracesIn(text, format)) {
    const misuse = depth === 1 ? misuseOf(inner) : undefined;
    if (misuse !== undefined) misuses.set(misuse.shown, misuse);
  }
  for (const [shown, field = ''] of text.matchAll(ENCODED)) {
    if (isMergeField(field)) misuses.set(shown, { shown: `%7B${field}%7D`, right: `{${field}}` });
  }
  const found = [...misuses.values()];
  return [...found.filter(({ right }) => right === undefined), ...found.filter(({ right }) => right !== undefined)];
}

/** What is wrong with the braces around it; undefined for the use of a field, and for text. */
function misuseOf(inner: string): Misuse | undefined {
  const [, field] = USE.exec(inner) ?? [];
  if (field === undefined) return misspelt(inner);
  return isMergeField(field) ? undefined : { shown: `{${field}}` };
}

/** Nothing of the text behind the name is quoted, which may be about a person. */
function misspelt(inner: string): Misuse | undefined {
  const [, written = '', sign] = NAMED.exec(inner) ?? [];
  const name = written.replaceAll(BLANKS, ' ');
  const field = MERGE_FIELDS.find((known) => lettersOf(known) === lettersOf(name));
  if (field === undefined || USE.test(inner)) return undefined;
  const shown = sign === undefined ? `{${name}}` : `{${name}${sign} …}`;
  const right = sign === undefined ? `{${field}}` : `{${field}, "there"}, with its fallback in straight double quotes`;
  return { shown, right };
}

const lettersOf = (name: string): string => name.replaceAll(/[\s_-]/g, '').toLowerCase();

function sentenceOf({ shown, right }: Misuse): string {
  return right === undefined
    ? unknownSentence([shown])
    : `${shown} is no merge field: write ${right}. Doubled braces show what stands in them.`;
}

function unknownSentence(names: readonly string[]): string {
  const [only] = names;
  const what =
    names.length === 1
      ? `${only} is no merge field`
      : `${names.slice(0, -1).join(', ')} and ${names.at(-1)} are no merge fields`;
  return `${what}. The fields are ${FIELDS}; {${only}} shows ${only}.`;
}
