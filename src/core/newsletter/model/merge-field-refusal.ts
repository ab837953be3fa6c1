import type { FieldFault } from '../../model/problem.ts';
import type { EmailContent } from './email.ts';
import { isMergeField, MERGE_FIELDS, MERGE_USE, mergeUses } from './merge-fields.ts';

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

function lettersOf(name: string): string {
  return name.replaceAll(/[\s_-]/g, '').toLowerCase();
}

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
