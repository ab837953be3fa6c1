import { escapeHtml } from '../content/escape-html.ts';
import { MOST_OPEN_TAGS, type Tag, walkHtml } from '../content/html-walk.ts';

/** A mail for a frame of a page whose policy takes no style in the markup: nothing in it runs, loads or is sent. */
export interface FramedMail {
  /** The style of an element stands in its `data-style`, for the page to set. */
  readonly html: string;
  readonly styles: readonly string[];
}

/** What has no place in the frame, with all that is in it. */
const LEFT_OUT = new Set(
  'script style title iframe object embed audio video canvas datalist template base link meta source'.split(' '),
);
const EMPTY = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));
const LINK = /^(?:https?:|mailto:|tel:)/i;
const INERT_ATTRIBUTES =
  /^(?:align|alt|bgcolor|border|cellpadding|cellspacing|class|color|colspan|dir|face|height|hidden|id|lang|role|rowspan|scope|size|start|type|title|valign|value|width|aria-[\w-]+)$/;

/** @throws TooNestedError */
export function framedMail(html: string): FramedMail {
  const styles: string[] = [];
  let page = '<!doctype html>';
  let out: Tag | undefined;
  walkHtml(
    html,
    {
      open(tag) {
        if (out === undefined && LEFT_OUT.has(tag.name)) out = tag;
        if (tag.name === 'style') styles.push('');
        if (isScheme(tag)) styles.push(`:root{color-scheme:${schemesOf(tag)}}`);
        if (out === undefined) page += tag.name === 'img' ? pictureOf(tag) : opening(tag);
      },
      text(text) {
        if (out === undefined) page += escapeHtml(text);
        else if (out.name === 'style') styles.push(`${styles.pop() ?? ''}${text}`);
      },
      close(tag) {
        if (out === undefined && !EMPTY.has(tag.name)) page += `</${tag.name}>`;
        if (out === tag) out = undefined;
      },
    },
    MOST_OPEN_TAGS + 20,
  );
  return { html: page, styles };
}

const isScheme = ({ name, attributes }: Tag): boolean =>
  name === 'meta' && attributes['name']?.toLowerCase() === 'color-scheme';
const schemesOf = ({ attributes }: Tag): string => (attributes['content'] ?? '').replaceAll(/[^a-z ]/gi, '');

function opening({ name, attributes }: Tag): string {
  const { style, href } = attributes;
  const kept = Object.entries(attributes).filter(([attribute]) => INERT_ATTRIBUTES.test(attribute));
  const link = href !== undefined && LINK.test(href.trim());
  return tagWith(name, [
    ...kept,
    ...(style === undefined ? [] : [['data-style', style] as const]),
    ...(link
      ? ([
          ['href', href],
          ['target', '_blank'],
          ['rel', 'noopener noreferrer'],
        ] as const)
      : []),
  ]);
}

const tagWith = (name: string, attributes: readonly (readonly [string, string])[]): string =>
  `<${name}${attributes.map(([attribute, value]) => ` ${attribute}="${escapeHtml(value)}"`).join('')}>`;

const FRAME =
  'box-sizing:border-box;display:inline-block;overflow:hidden;max-width:100%;padding:6px 8px;border:1px dashed #6b7280;' +
  'background-color:#e5e7eb;color:#1f2937;font:12px/16px sans-serif;text-align:left;vertical-align:top;overflow-wrap:anywhere';

/** What stands in the place of a picture that a mail program would fetch: its size, and what is read without it. */
function pictureOf({ attributes }: Tag): string {
  const { src = '', alt = '', style = '' } = attributes;
  if (/^\s*data:image\//i.test(src)) {
    return tagWith('img', [
      ['src', src],
      ['alt', alt],
      ['data-style', style],
    ]);
  }
  const [width, height] = ['width', 'height'].map((side) => sideOf(side, attributes));
  if ([width, height].some((side) => side !== undefined && side <= 2)) return '';
  const isSized = width !== undefined || height !== undefined;
  const size = isSized ? `${width ?? 'auto'} × ${height ?? 'auto'}` : 'size not given';
  const place = `${width === undefined ? '' : `;${widthOf(width)}`}${height === undefined ? '' : `;min-height:${Math.min(height, 400)}px`}`;
  const says = alt === '' ? 'picture without a text alternative' : alt;
  const shown = tagWith('span', [
    ['class', 'nr-picture'],
    ['data-style', `${style};height:auto;${FRAME}${place}`],
  ]);
  return `${shown}${escapeHtml(`${size} · ${says}`)}</span>`;
}

/** A picture gives way where its cell is narrower; what stands for it does so by a share of the cell only. */
const widthOf = (width: number): string => (width > 200 ? `width:100%;max-width:${width}px` : `width:${width}px`);

/** In pixels, as its attribute or its style has it; undefined where only the picture itself says it. */
function sideOf(side: string, attributes: Tag['attributes']): number | undefined {
  const styled = new RegExp(`(?:^|;)\\s*${side}\\s*:\\s*(\\d{1,4})px`, 'i').exec(attributes['style'] ?? '');
  const [, pixels] = styled ?? /^\s*(\d{1,4})(?:px)?\s*$/.exec(attributes[side] ?? '') ?? [];
  return pixels === undefined ? undefined : Number(pixels);
}
