import type { EmailContent } from '../../core/newsletter/model/email.ts';
import { misuseBehindMarkup } from '../../core/newsletter/model/merge-fields.ts';
import { walkHtml } from '../content/html-walk.ts';
import type { HeldFields } from './held-fields.ts';

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
