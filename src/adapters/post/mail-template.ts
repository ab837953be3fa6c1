import type { Newsletter } from '../../core/newsletter/model/email.ts';
import { escapeHtml } from '../content/escape-html.ts';
import { walkHtml } from '../content/html-walk.ts';
import { centered, FONT, FOOTER_STYLE, TABLE } from './footer.ts';

/** Contrast of text and what it stands on (WCAG 1.4.3). */
const LEAST_CONTRAST = 4.5;

const channels = (color: string): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

/** Relative luminance, as WCAG defines it. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The color, with as much black or white in it as lets text of it be read. @param color and ground `#rrggbb` */
export function readableOn(ground: string, color: string): string {
  const end = contrast('#000000', ground) > contrast('#ffffff', ground) ? 0 : 255;
  const mixed = (share: number) =>
    `#${channels(color)
      .map((value) => Math.round(value + (end - value) * share))
      .map((value) => value.toString(16).padStart(2, '0'))
      .join('')}`;
  const shares = Array.from({ length: 21 }, (_, i) => i / 20);
  return shares.map(mixed).find((one) => contrast(one, ground) >= LEAST_CONTRAST) ?? mixed(1);
}

/** Black or white: one of them can be read on every color. */
export const textOn = (ground: string): string =>
  contrast('#ffffff', ground) >= LEAST_CONTRAST ? '#ffffff' : '#000000';

const ACCENT = '#1a5fb4';
const MONO = 'font-family:Consolas,Menlo,Courier New,monospace';
const WRAP = 'overflow-wrap:anywhere;word-break:break-word';

const LIGHT = { page: '#f3f4f6', card: '#ffffff', text: '#1f2937', muted: '#4b5563', line: '#d1d5db', code: '#f3f4f6' };
const DARK = { page: '#14171c', card: '#1d2128', text: '#e5e7eb', muted: '#c3c8d0', line: '#4b5563', code: '#2b303a' };

/** How an element looks, in its `style`: several programs read no style sheet. The link's color is the newsletter's. */
const STYLES: Readonly<Record<string, string>> = {
  h1: 'margin:0 0 16px;font-size:26px;line-height:32px',
  h2: 'margin:32px 0 12px;font-size:21px;line-height:28px',
  h3: 'margin:24px 0 8px;font-size:18px;line-height:26px',
  h4: 'margin:24px 0 8px;font-size:16px;line-height:24px',
  p: 'margin:0 0 16px',
  ul: 'margin:0 0 16px;padding:0 0 0 24px',
  ol: 'margin:0 0 16px;padding:0 0 0 24px',
  li: 'margin:0 0 4px',
  img: 'max-width:100%;height:auto;border:0',
  pre: `margin:0 0 16px;padding:12px 16px;background-color:${LIGHT.code};border-radius:6px;${MONO};font-size:14px;line-height:21px;white-space:pre-wrap;${WRAP}`,
  code: `padding:1px 4px;background-color:${LIGHT.code};border-radius:4px;${MONO};font-size:14px;${WRAP}`,
  blockquote: `margin:0 0 16px;padding:4px 0 4px 16px;border-left:4px solid ${LIGHT.line};color:${LIGHT.muted}`,
  hr: `margin:24px 0;border:0;border-top:1px solid ${LIGHT.line}`,
  table: 'width:100%;margin:0 0 16px;border-collapse:collapse',
  th: `padding:6px 10px;overflow-wrap:break-word;word-break:normal;border:1px solid ${LIGHT.line};background-color:${LIGHT.code};vertical-align:top`,
  td: `padding:6px 10px;overflow-wrap:break-word;word-break:normal;border:1px solid ${LIGHT.line};vertical-align:top`,
};
const CODE_BLOCK = `${MONO};font-size:14px`;

/** What a style sheet alone can say: narrow windows, and the dark. */
const styleSheet = (accent: string): string =>
  ':root{color-scheme:light dark;supported-color-schemes:light dark}' +
  '@media (max-width:480px){.nr-card,.nr-head,.nr-below{padding-left:20px!important;padding-right:20px!important}' +
  '.nr-card th,.nr-card td{padding:4px 6px!important;font-size:14px!important}.nr-card .nr-button td{padding:0!important}}' +
  '@media (prefers-color-scheme:dark){' +
  `.nr-page{background-color:${DARK.page}!important}` +
  `.nr-card{background-color:${DARK.card}!important;color:${DARK.text}!important}` +
  `.nr-name{color:${DARK.text}!important}.nr-card a{color:${readableOn(DARK.code, accent)}!important}` +
  `.nr-card .nr-button a{color:${textOn(accent)}!important}` +
  `.nr-card pre,.nr-card code,.nr-card th{background-color:${DARK.code}!important}` +
  `.nr-card blockquote{color:${DARK.muted}!important}` +
  `.nr-card td,.nr-card th,.nr-card hr,.nr-card blockquote{border-color:${DARK.line}!important}}${FOOTER_STYLE}`;

const BUTTON = /<p><strong><a (href="[^"]*"(?: title="[^"]*")?)>([^<]*)<\/a><\/strong><\/p>/g;

/** What the template makes of a link that is bold and alone in its paragraph. */
const button = (accent: string) => (_: string, attributes: string, text: string) =>
  `<table role="presentation" class="nr-button" style="margin:8px 0 24px;border-collapse:separate;border-spacing:0"><tr>` +
  `<td style="padding:0;border:0;border-radius:6px;background-color:${accent};mso-padding-alt:12px 24px">` +
  `<a ${attributes} style="display:inline-block;padding:12px 24px;color:${textOn(accent)};font-weight:bold;text-decoration:none">` +
  `${text}</a></td></tr></table>`;

const CELL = /<(t[hd])(?: align="(left|center|right)")?>/g;

/** Cells as Markdown writes them, with the name of their column for who hears it, and no attribute of former days. */
const cellOf = (_: string, name: string, align = name === 'th' ? 'left' : ''): string =>
  `<${name}${name === 'th' ? ' scope="col"' : ''}${align && ` style="text-align:${align}"`}>`;

/** The content with its style in each element; an element's own goes before. */
function styled(html: string, accent: string): string {
  const styles = { ...STYLES, a: `color:${readableOn(LIGHT.code, accent)};text-decoration:underline;${WRAP}` };
  let page = '';
  let at = 0;
  let blocks = 0;
  let buttons = 0;
  walkHtml(html, {
    open({ name, attributes }, { startIndex, endIndex }) {
      if (name === 'pre') blocks += 1;
      if (attributes['class'] === 'nr-button' || buttons > 0) buttons += 1;
      const style =
        name === 'code' && blocks > 0 ? CODE_BLOCK : Object.hasOwn(styles, name) ? styles[name as 'a'] : undefined;
      const tag = html.slice(startIndex, endIndex + 1);
      // What another tag implies has none of its own.
      if (style === undefined || buttons > 0 || tag.slice(1, 1 + name.length).toLowerCase() !== name) return;
      const [own] = /\sstyle\s*=\s*["']/i.exec(tag) ?? [];
      const place = own === undefined ? 1 + name.length : tag.indexOf(own) + own.length;
      if (own === undefined && attributes['style'] !== undefined) return;
      page += `${html.slice(at, startIndex + place)}${own === undefined ? ` style="${style}"` : `${style};`}`;
      at = startIndex + place;
    },
    close({ name }) {
      if (name === 'pre') blocks -= 1;
      if (buttons > 0) buttons -= 1;
    },
  });
  return page + html.slice(at);
}

function header({ name, logo_url }: Newsletter): string {
  if (logo_url === undefined) {
    return `<p class="nr-name" style="margin:0;font-size:18px;line-height:24px;font-weight:bold;color:${LIGHT.text}">${escapeHtml(name)}</p>`;
  }
  const style = 'display:block;height:40px;width:auto;max-width:100%;border:0';
  return `<img src="${escapeHtml(logo_url)}" alt="${escapeHtml(name)}" height="40" style="${style}">`;
}

/** The parts of a document around a post in Markdown or text. @param content the post as HTML */
export function templated(content: string, newsletter: Newsletter) {
  const accent = newsletter.accent_color ?? ACCENT;
  const cell = (name: string, style: string, html: string) =>
    `<tr><td class="${name}" style="border:0;${FONT};${style}">${html}</td></tr>`;
  const card =
    `padding:32px;border-top:4px solid ${accent};background-color:${LIGHT.card};color:${LIGHT.text};` +
    `font-size:16px;line-height:26px;${WRAP}`;
  const rows =
    cell('nr-head', 'padding:24px 32px 16px', header(newsletter)) +
    cell('nr-card', card, styled(content.replaceAll(CELL, cellOf).replaceAll(BUTTON, button(accent)), accent));
  const page = `background-color:${LIGHT.page}`;
  return {
    style: styleSheet(accent),
    body:
      `<table role="presentation" class="nr-page" style="${TABLE};${page}"><tr><td style="padding:0">` +
      `${centered(rows)}</td></tr></table>`,
    /** Of the body's tag. */
    attributes: ` class="nr-page" style="margin:0;padding:0;${page}"`,
  };
}
