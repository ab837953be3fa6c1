import type { FieldFault } from '../../model/problem.ts';
import type { Recipient } from './chunk.ts';
import type { EmailContent } from './email.ts';

/** Fields of a member that a subject or a body may name in braces: `{name}`, or `{name, "there"}` with a fallback. */
const MERGE_FIELDS = ['name', 'first_name', 'email', 'member_id', 'unsubscribe_url'] as const;
export type MergeField = (typeof MERGE_FIELDS)[number];

export interface MergeUse {
  /** As it stands in the text. */
  readonly text: string;
  readonly field: string;
  /** What stands there for a member without a value. */
  readonly fallback?: string;
}

/** Doubled braces are not ours: they arrive as they were written. */
export const MERGE_USE = /(?<!\{)\{([a-z_]+)(?:,\s*"([^"{}]*)")?\}(?!\})/g;

/** The uses of merge fields in texts, each once, in the order of their first appearance. */
export function mergeUses(...texts: readonly string[]): readonly MergeUse[] {
  const uses = new Map<string, MergeUse>();
  for (const text of texts) {
    for (const [whole, field = '', fallback] of text.matchAll(MERGE_USE)) {
      uses.set(whole, { text: whole, field, ...(fallback !== undefined && { fallback }) });
    }
  }
  return [...uses.values()];
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
const WHICH = `The fields are ${FIELDS}; doubled braces stand for themselves.`;

/** What stands in single braces on one line: a name, and what follows it behind a comma or a bar. */
const IN_BRACES = /(?<!\{)\{([^{}\n,|]{1,40})(?:([,|])[^{}\n]*)?\}(?!\})/g;
const ONE_USE = new RegExp(`^${MERGE_USE.source}$`);

/**
 * Why a post cannot be sent: it names a field that does not exist, or one that does in a form that would arrive as it is
 * written, such as `{Name}` or `{name, “you”}` with the quotes of a word processor.
 */
export function mergeFieldRefusal({
  subject,
  body,
}: Pick<EmailContent, 'subject' | 'body'>): MergeFieldRefusal | undefined {
  const found = Object.entries({ subject, body }).flatMap(([path, text]) =>
    [...unknownFields(text), ...misspeltUses(text)].map((misuse) => ({ path, misuse })),
  );
  if (found.length === 0) return undefined;
  const errors = found.map(({ path, misuse }) => ({ path, rule: 'merge-field', message: sentenceOf(misuse) }));
  const unknown = found.flatMap(({ misuse: { shown, right } }) => (right === undefined ? [shown] : []));
  const misspelt = found.flatMap(({ misuse }) => (misuse.right === undefined ? [] : [sentenceOf(misuse)]));
  const sentences = [...(unknown.length > 0 ? [unknownSentence([...new Set(unknown)])] : []), ...new Set(misspelt)];
  return { message: sentences.join(' '), errors };
}

function unknownFields(text: string): Misuse[] {
  return mergeUses(text)
    .filter(({ field }) => !isMergeField(field))
    .map(({ field }) => ({ shown: `{${field}}` }));
}

/** Nothing of the text behind the name is quoted, which may be about a person. */
function misspeltUses(text: string): Misuse[] {
  const uses = new Map<string, Misuse>();
  for (const [whole, name = '', sign] of text.matchAll(IN_BRACES)) {
    const field = MERGE_FIELDS.find((known) => lettersOf(known) === lettersOf(name));
    if (field === undefined || ONE_USE.test(whole)) continue;
    const shown = sign === undefined ? whole : `{${name}${sign} …}`;
    const right =
      sign === undefined ? `{${field}}` : `{${field}, "there"}, with its fallback in straight double quotes`;
    uses.set(shown, { shown, right });
  }
  return [...uses.values()];
}

const lettersOf = (name: string): string => name.replaceAll(/[\s_-]/g, '').toLowerCase();

function sentenceOf({ shown, right }: Misuse): string {
  return right === undefined ? unknownSentence([shown]) : `${shown} is no merge field: write ${right}.`;
}

function unknownSentence(names: readonly string[]): string {
  const [only] = names;
  const what =
    names.length === 1
      ? `${only} is no merge field`
      : `${names.slice(0, -1).join(', ')} and ${names.at(-1)} are no merge fields`;
  return `${what}. ${WHICH}`;
}
