import { escapeHtml } from '../content/escape-html.ts';
import { MOST_OPEN_TAGS, walkHtml } from '../content/html-walk.ts';

/** A post has been converted by now, and became a document. */
const MOST = MOST_OPEN_TAGS + 10;

/**
 * Every mail shows a way out, beside the header of RFC 8058 that many programs hide: where its reader sees it, which is
 * the end of the body unless something is open there that hides it. A comment and a script may write of tags.
 */
export function withFooter(html: string, newsletter: string, link: string): string {
  const footer =
    `<p style="font-size:small">You get this because you subscribe to ${escapeHtml(newsletter)}. ` +
    `<a href="${link}">Unsubscribe</a></p>`;
  const at = (place: number) => html.slice(0, place) + footer + html.slice(place);
  const last = html.toLowerCase().lastIndexOf('</body');
  const usual = at(last < 0 ? html.length : last);
  if (shows(usual, link)) return usual;
  const { begin, end } = bodyOf(html);
  return [end, html.length].map(at).find((page) => shows(page, link)) ?? at(begin);
}

export const textFooter = (newsletter: string, link: string): string =>
  `\n\n--\nYou get this because you subscribe to ${newsletter}. Unsubscribe: ${link}\n`;

/** Where the body's content begins and ends. */
function bodyOf(html: string): { readonly begin: number; readonly end: number } {
  let begin = 0;
  let end = html.length;
  walkHtml(
    html,
    {
      open({ name }, parser) {
        if (name === 'body' || (name === 'html' && begin === 0)) begin = parser.endIndex + 1;
      },
      close({ name }, by, parser) {
        if (by === 'tag' && (name === 'body' || (name === 'html' && end === html.length))) end = parser.startIndex;
      },
    },
    MOST,
  );
  return { begin, end };
}

function shows(html: string, link: string): boolean {
  let shown = false;
  const open = ({ hidden, attributes }: { hidden: boolean; attributes: Readonly<Record<string, string>> }) => {
    shown ||= !hidden && attributes['href'] === link;
  };
  walkHtml(html, { open }, MOST);
  return shown;
}
