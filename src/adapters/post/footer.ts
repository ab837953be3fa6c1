import { MAIL_PAGE, type MailLanguage, mailLanguageOf, type Newsletter } from '../../core/newsletter/model/email.ts';
import { linkedText } from '../content/addresses.ts';
import { escapeHtml } from '../content/escape-html.ts';
import { MOST_OPEN_TAGS, walkHtml } from '../content/html-walk.ts';

/** Names without quotes: styles stand in attributes. */
export const FONT =
  'font-family:-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Noto Sans JP,Hiragino Sans,Meiryo,Arial,sans-serif';

/** A table that only puts things into their place. */
export const TABLE = 'width:100%;margin:0 auto;border-collapse:collapse;border-spacing:0';

/** Most pixels that a mail is wide. */
const WIDTH = 600;

/** Rows in the middle of the window, at most as wide as a mail is; Outlook for Windows knows no such limit. */
export const centered = (rows: string): string =>
  `<!--[if mso]><table role="presentation" align="center" width="${WIDTH}" cellpadding="0" cellspacing="0"><tr><td><![endif]-->` +
  `<table role="presentation" style="${TABLE};table-layout:fixed;max-width:${WIDTH}px">${rows}</table>` +
  '<!--[if mso]></td></tr></table><![endif]-->';

/** A post has been converted by now, and became a document. */
const MOST = MOST_OPEN_TAGS + 20;

/** What stands below every mail: why it comes, the way out, whom to ask, its page. Another language is another entry. */
const TEXTS = {
  en: {
    reason: (name: string) => `You get this because you subscribe to ${name}.`,
    unsubscribe: 'Unsubscribe',
    contact: 'Contact',
    view: 'View in your browser',
  },
  ja: {
    reason: (name: string) => `このメールは「${name}」を購読されている方にお送りしています。`,
    unsubscribe: '配信を停止する',
    contact: 'お問い合わせ',
    view: 'ブラウザーで見る',
  },
} satisfies Readonly<Record<MailLanguage, object>>;

const COLORS = { ground: '#f3f4f6', text: '#4b5563', line: '#d1d5db' };
const DARK = { ground: '#14171c', text: '#c3c8d0', line: '#4b5563' };

/** For mails that look different in the dark: a program that knows no such rules keeps the light ones. */
export const FOOTER_STYLE =
  '@media (prefers-color-scheme:dark){' +
  `table.nr-footer,table.nr-footer td{background-color:${DARK.ground}!important;border-color:${DARK.line}!important}` +
  `table.nr-footer td,table.nr-footer p,table.nr-footer a{color:${DARK.text}!important}}`;

/** SES counts the clicks of a link without the attribute by way of its own, which blockers of trackers block. */
const NO_TRACK = 'ses:no-track';

/** A footer of its own, whatever styles the post has. @param link to unsubscribe */
export function htmlFooter(newsletter: Newsletter, link: string): string {
  const { reason, unsubscribe, contact, view } = TEXTS[mailLanguageOf(newsletter)];
  const { sender_name, postal_address } = newsletter;
  const style = `color:${COLORS.text};text-decoration:underline`;
  const line = (html: string) =>
    `<p style="margin:0 0 8px;padding:0;font-size:13px;line-height:20px;color:${COLORS.text}">${html}</p>`;
  const anchor = (href: string, text: string) => `<a ${NO_TRACK} href="${href}" style="${style}">${text}</a>`;
  const who = [
    ...(sender_name === undefined ? [] : [`<strong>${escapeHtml(sender_name)}</strong>`]),
    ...(postal_address === undefined ? [] : [escapeHtml(postal_address)]),
  ];
  const lines = [
    ...(who.length > 0 ? [who.join('<br>')] : []),
    ...(newsletter.contact === undefined ? [] : [`${contact}: ${linkedText(newsletter.contact, { style })}`]),
    escapeHtml(reason(newsletter.name)),
    `${anchor(link, unsubscribe)} &nbsp; ${anchor(`${link}${MAIL_PAGE}`, view)}`,
  ];
  const ground = `background-color:${COLORS.ground}`;
  const inner =
    `<td class="nr-below" style="padding:16px 32px;border:0;border-top:1px solid ${COLORS.line};${ground};text-align:left;${FONT};overflow-wrap:anywhere">` +
    `${lines.map(line).join('')}</td>`;
  return (
    `<table role="presentation" class="nr-footer" lang="${mailLanguageOf(newsletter)}" dir="ltr" style="${TABLE};${ground}">` +
    `<tr><td style="padding:8px 0 24px;border:0;${ground}">${centered(`<tr>${inner}</tr>`)}</td></tr></table>`
  );
}

/** A line of two dashes and a blank is what programs know as the end of a text (RFC 3676 §4.3). */
export function textFooter(newsletter: Newsletter, link: string, text: string): string {
  const { reason, unsubscribe, contact, view } = TEXTS[mailLanguageOf(newsletter)];
  const { sender_name, postal_address } = newsletter;
  const lines = [
    ...(/^-- $/m.test(text) ? [] : ['-- ']),
    ...(sender_name === undefined ? [] : [sender_name]),
    ...(postal_address === undefined ? [] : [postal_address]),
    ...(newsletter.contact === undefined ? [] : [`${contact}: ${newsletter.contact}`]),
    reason(newsletter.name),
    `${unsubscribe}: ${link}`,
    `${view}: ${link}${MAIL_PAGE}`,
  ];
  return `\n\n${lines.join('\n')}\n`;
}

/** Where the content of its body begins and ends, where its head ends, and which anchors to the link are tracked. */
function placesIn(html: string, link: string) {
  const found = { begin: 0, end: html.length, head: undefined as number | undefined, anchors: [] as number[] };
  walkHtml(
    html,
    {
      open({ name, attributes }, parser) {
        if (name === 'body' || (name === 'html' && found.begin === 0)) found.begin = parser.endIndex + 1;
        const leads = (name === 'a' || name === 'area') && attributes['href']?.toLowerCase().includes(link) === true;
        if (leads && attributes[NO_TRACK] === undefined) found.anchors.push(parser.startIndex + 1 + name.length);
      },
      close({ name }, by, parser) {
        if (by !== 'tag') return;
        if (name === 'head') found.head ??= parser.startIndex;
        if (name === 'body' || (name === 'html' && found.end === html.length)) found.end = parser.startIndex;
      },
    },
    MOST,
  );
  return found;
}

/**
 * Every mail shows its footer where its reader sees it, which is the end of the body unless something is open there that
 * hides it: a comment and a script may write of tags. No anchor to the link is tracked, whoever wrote it.
 * @param parts the footer, what stands before the content, and a style sheet; empty for none
 */
export function withAdditions(
  html: string,
  { footer, before, style }: Readonly<Record<'footer' | 'before' | 'style', string>>,
  link: string,
): string {
  const { begin, end, head, anchors } = placesIn(html, link);
  const fixed = [
    ...anchors.map((at) => ({ at, text: ` ${NO_TRACK}` })),
    ...(before === '' ? [] : [{ at: begin, text: before }]),
    ...(head === undefined || style === '' ? [] : [{ at: head, text: `<style>${style}</style>` }]),
  ];
  const withFooterAt = (at: number) => {
    let page = '';
    let from = 0;
    let shown = 0;
    for (const { at: to, text } of [...fixed, { at, text: footer }].sort((a, b) => a.at - b.at)) {
      page += html.slice(from, to);
      if (text === footer) shown = page.length;
      page += text;
      from = to;
    }
    return { page: page + html.slice(from), shown };
  };
  // What a browser finds behind the body stands in what is open at its end, too.
  const { page, shown } = withFooterAt(end);
  return shows(page, shown) ? page : withFooterAt(begin).page;
}

function shows(page: string, at: number): boolean {
  let shown = false;
  const open = ({ hidden }: { hidden: boolean }, parser: { startIndex: number }) => {
    shown ||= !hidden && parser.startIndex === at;
  };
  walkHtml(page, { open }, MOST);
  return shown;
}
