import { domainToASCII } from 'node:url';
import type { Tokenizer, Tokens } from 'marked';
import type { MergeUse, Pieces } from '../../core/newsletter/model/merge-fields.ts';
import { escapeHtml } from './escape-html.ts';

/** An address that holds the data itself, or names a part of the mail: a reader can do nothing with it. */
export const isEmbedded = (text: string): boolean => /^\s*(?:data|cid):/i.test(text);

/**
 * How the address of a link is written into a text; undefined where it leads nowhere outside of its page, or is what the
 * text says. It is whole: blanks, and characters that a linkifier would leave out at its end, are percent-encoded.
 */
export function writtenLink(href: string, text: string | undefined): string | undefined {
  const address = wholeAddress(href)?.replace(/^(?:mailto|tel):([^?]*)$/i, unescaped);
  return address !== undefined && text !== undefined && sameAddress(address, text) ? undefined : address;
}

/** An address of mail, or a number, as people know it (RFC 6068 §2). */
const unescaped = (_: string, known: string) => known.replaceAll(/%[2-7][\da-f]/gi, decodeURIComponent);

/** The scheme of a word that stands for an address, which a value will be. */
export const ADDRESS_SCHEME = 'address:';

/** The address of a link that leads somewhere, without what ends it for a linkifier. */
export function wholeAddress(href: string): string | undefined {
  const address = href
    .replaceAll(/[\t\n\r]/g, '')
    .trim()
    .replace(IDN, inAscii);
  if (!/^(?:https?:\/\/|mailto:|tel:|address:)[^\s]/i.test(address)) return undefined;
  return closed(address.replaceAll(/[\s<>"`\\^{|}\u0080-\u{10ffff}]/gu, encoded));
}

/** The domain of a link is in ASCII: linkifiers take no `%` in one. */
const IDN = /^(https?:\/\/|mailto:[^?]*@)([^/?#@:,]*[%\u0080-\u{10ffff}][^/?#@:,]*)/iu;
const inAscii = (_: string, before: string, domain: string) => before + (domainToASCII(domain) || domain);

const encoded = (character: string): string => encodeURIComponent(character.toWellFormed());

/** Linkifiers leave these out at the end of an address, and a bracket that was not opened in it. */
const LOOSE_END = /[.,:;!?'*_~\])]$/;

function closed(address: string): string {
  const end = LOOSE_END.exec(address)?.[0];
  if (end === undefined || (end === ')' && balanced(address))) return address;
  return `${address.slice(0, -1)}${end === '?' ? '' : hexOf(end)}`;
}

const balanced = (address: string): boolean => address.split('(').length === address.split(')').length;

const bare = (address: string): string =>
  address
    .toLowerCase()
    .replace(/^(?:https?:\/\/|mailto:|tel:)/, '')
    .replace(/\/$/, '');

const digits = (text: string): string => text.replace(/^tel:/i, '').replaceAll(/[\s().-]/g, '');

const sameAddress = (address: string, text: string): boolean =>
  bare(address) === bare(text) || (/^\+?\d+$/.test(digits(address)) && digits(address) === digits(text));

/** A value as a part of an address, in its path or its query. The address of a mail keeps its `@` (RFC 6068). */
export function inAddress(value: string, within: 'url' | 'mailto'): string {
  const part = encodeURIComponent(value.toWellFormed()).replaceAll(/[!'()*~]/g, hexOf);
  return within === 'mailto' ? part.replaceAll('%40', '@') : part;
}

/** A member's value where a post uses it. */
export function writtenValue(
  { field, fallback, within }: MergeUse,
  values: Readonly<Record<string, string>>,
  form: 'html' | 'text',
): string {
  const value = values[field] ?? fallback ?? '';
  if (within !== undefined) return inAddress(value, within);
  return form === 'html' ? escapeHtml(value) : value;
}

/** A part of a mail with a member's values in it. */
export const filledIn = (pieces: Pieces, values: Readonly<Record<string, string>>, form: 'html' | 'text'): string =>
  pieces.map((piece) => (typeof piece === 'string' ? piece : writtenValue(piece, values, form))).join('');

const hexOf = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

const WEB = 'https?://(?=[\\w[])';
/** Of other characters than those of RFC 3986 none is taken along: Japanese goes on right behind an address. */
const OF_ADDRESS = "[\\w.~:/?#[\\]@!$&'()*+,;=%-]";
const MAIL = '(?<![\\w.+%-])[\\w.+%-]{1,64}@(?:[a-z\\d-]{1,63}\\.){1,8}[a-z]{2,24}\\b';

/**
 * A text as HTML in which addresses of the web and of mail are links.
 * @param held a word that stands for an address, which may go on behind it
 * @param style of the links
 */
export function linkedText(text: string, { held, style }: { readonly held?: string; readonly style?: string } = {}) {
  const begins = held === undefined ? WEB : `${WEB}|${held}`;
  const addresses = new RegExp(`(\\b(?:${begins})${OF_ADDRESS}*)|${MAIL}`, 'gi');
  let html = '';
  let at = 0;
  for (const { index, 0: mail, 1: url } of text.matchAll(addresses)) {
    const shown = url === undefined ? mail : wholeUrl(url);
    const href = escapeHtml(url === undefined ? `mailto:${mail}` : shown);
    const styled = style === undefined ? '' : ` style="${style}"`;
    html += `${escapeHtml(text.slice(at, index))}<a href="${href}"${styled}>${escapeHtml(shown)}</a>`;
    at = index + shown.length;
  }
  return html + escapeHtml(text.slice(at));
}

/** Without what belongs to the sentence around it; a bracket stays that was opened in it. */
function wholeUrl(url: string): string {
  let unopened = url.split(')').length - url.split('(').length;
  let end = url.length;
  for (; /[.,:;!?'*~\])]/.test(url[end - 1] ?? ''); end -= 1) {
    if (url[end - 1] === ')' && unopened-- <= 0) break;
  }
  return url.slice(0, end);
}

const NAMED_LINK = /^<((?:https?:\/\/|mailto:|tel:)[^<>|\s]+)\|([^<>\n]+)>/;

/** Slack's `<https://…|text>` (his-notification-log-table.md, sample NL002); false for any other link. */
function namedLink(source: string): Tokens.Link | false {
  const [raw, href = '', text = ''] = NAMED_LINK.exec(source) ?? [];
  if (raw === undefined) return false;
  return { type: 'link', raw, href, title: null, text, tokens: [{ type: 'text', raw: text, text, escaped: false }] };
}

/** Without the end of an attribute, and without what GFM takes along of Japanese and Chinese (cmark-gfm#83). */
const URL_IN_TEXT = /^(?:(?:https?|ftp):\/\/|www\.)[^\s<">“”‘’…、。，．：；！？（）「」『』【】《》〈〉〔〕［］｛｝]*/i;

function urlInText(this: Tokenizer, text: string): Tokens.Link | undefined {
  return Object.getPrototypeOf(this).url.call(this, URL_IN_TEXT.exec(text)?.[0] ?? text);
}

/** How `marked` reads links that are no `[text](address)`. */
export const LINKS = { autolink: namedLink, url: urlInText };
