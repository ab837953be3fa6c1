import type { EmailContent } from '../../core/newsletter/model/email.ts';
import {
  fieldsIn,
  type InBraces,
  type MergeUse,
  misuseBehindMarkup,
  type Pieces,
} from '../../core/newsletter/model/merge-fields.ts';
import { ADDRESS_SCHEME, inAddress } from '../content/addresses.ts';
import { escapeHtml } from '../content/escape-html.ts';
import { walkHtml } from '../content/html-walk.ts';

/** A source whose fields are carried through conversions as words, and put back as values. */
export interface HeldFields {
  /** The source with a word in the place of each field, and of each text that doubled braces show. */
  readonly source: string;
  readonly release: (converted: string, form: 'html' | 'text') => Pieces;
  /** Whether a text has one of these words. */
  readonly isIn: (text: string) => boolean;
  /** Whether it has one whose value would end an attribute without quotes. */
  readonly isUnquotedIn: (text: string) => boolean;
  /** A text with its fields as a part of the HTML. */
  readonly inHtml: (pieces: Pieces) => string;
  /** The word for the link to unsubscribe. */
  readonly link: string;
}

const LINK: MergeUse = { field: 'unsubscribe_url' };

/**
 * Converters escape quotes in texts and braces in links, and read markup between them: a word survives.
 * @param others texts that are put in later: the word is in none of them
 */
export function holdFields(body: string, format: EmailContent['format'], others: readonly string[]): HeldFields {
  let word = 'mergefield';
  while ([body, ...others].some((text) => text.toLowerCase().includes(word))) word += 'x';
  const values: InBraces['value'][] = [LINK];
  const indexes = new Map([[JSON.stringify(LINK), 0]]);
  const hold = (value: InBraces['value']) => {
    const key = JSON.stringify(value);
    const index = indexes.get(key) ?? values.push(value) - 1;
    indexes.set(key, index);
    return wordOf(word, index, value);
  };
  let source = '';
  let at = 0;
  for (const { start, end, value } of fieldsIn(body, format)) {
    source += body.slice(at, start) + hold(value);
    at = end;
  }
  source += body.slice(at);
  const held = new RegExp(`(?:${ADDRESS_SCHEME})?${word}(\\d+)z`, 'gi');
  const valuesIn = (text: string) => [...text.matchAll(held)].map(([, index]) => values[Number(index)] ?? LINK);
  return {
    source,
    release: (converted, form) => released(converted.split(held), values, form),
    isIn: (text) => text.toLowerCase().includes(word),
    isUnquotedIn: (text) => valuesIn(text).some((value) => value.within === undefined && !isLink(value)),
    inHtml: (pieces) => pieces.map((piece) => (typeof piece === 'string' ? escapeHtml(piece) : hold(piece))).join(''),
    link: wordOf(word, 0, LINK),
  };
}

const isLink = (value: InBraces['value']): boolean =>
  'field' in value && value.field === LINK.field && value.within === undefined;

/** The link is an address wherever it stands: converters leave out what leads nowhere. */
const wordOf = (word: string, index: number, value: InBraces['value']): string =>
  `${isLink(value) ? ADDRESS_SCHEME : ''}${word}${index}z`;

/** @param parts texts, and between two of them the index of a value */
function released(parts: readonly string[], values: readonly InBraces['value'][], form: 'html' | 'text'): Pieces {
  const pieces: (string | MergeUse)[] = [];
  let text = '';
  for (const [index, part] of parts.entries()) {
    const value = index % 2 === 1 ? values[Number(part)] : undefined;
    if (value === undefined) text += part;
    else if ('shown' in value) text += shownIn(value, form);
    else {
      if (text !== '') pieces.push(text);
      pieces.push(value);
      text = '';
    }
  }
  return text === '' ? pieces : [...pieces, text];
}

function shownIn({ shown, within }: Extract<InBraces['value'], { shown: string }>, form: 'html' | 'text'): string {
  if (within !== undefined) return inAddress(shown, within);
  return form === 'html' ? escapeHtml(shown) : shown;
}

/** Tags that are no end of a word: all others stand between two texts. */
const INLINE = new Set(
  'a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var'.split(
    ' ',
  ),
);

/**
 * What is wrong with the fields of a post, as its HTML shows it: one with markup inside would arrive as it is written,
 * one in a tag would not be seen, and the value of one in an attribute without quotes would end the attribute.
 * @param html the post, with a word in the place of each field
 */
export function faultOfFields(html: string, held: HeldFields, format: EmailContent['format']): string | undefined {
  if (!html.includes('{') && !held.isIn(html)) return undefined;
  let fault: string | undefined;
  let text = '';
  walkHtml(html, {
    open({ name, attributes }) {
      if (!INLINE.has(name)) text += '\n';
      if (held.isIn(name) || Object.keys(attributes).some(held.isIn)) {
        fault ??= 'A merge field stands between < and >, where nobody reads it: take it out of the tag.';
      }
    },
    close({ name }) {
      if (!INLINE.has(name)) text += '\n';
    },
    // As it is written, because an entity stands for text.
    text(_, __, { startIndex, endIndex }) {
      text += html.slice(startIndex, endIndex + 1);
    },
    attribute(_, value, quote) {
      if (quote === null && held.isUnquotedIn(value)) {
        fault ??= 'A merge field stands in an attribute without quotes: write name="{name}".';
      }
    },
  });
  return fault ?? misuseBehindMarkup(text, format);
}
