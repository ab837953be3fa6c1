import { escapeHtml } from './escape-html.ts';

/** Of other characters than those of RFC 3986 none is taken along: Japanese goes on right behind an address. */
const OF_ADDRESS = "[\\w.~:/?#[\\]@!$&'()*+,;=%-]";
const MAIL = '(?<![\\w.+%-])[\\w.+%-]{1,64}@(?:[a-z\\d-]{1,63}\\.){1,8}[a-z]{2,24}\\b';

/**
 * A text as HTML in which addresses of the web and of mail are links.
 * @param held a word that stands for an address, which may go on behind it
 * @param style of the links
 */
export function linkedText(text: string, { held, style }: { readonly held?: string; readonly style?: string } = {}) {
  const begins = held === undefined ? 'https?://' : `https?://|${held}`;
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
