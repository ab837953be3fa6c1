import { isEmbedded, writtenLink } from './addresses.ts';
import { box } from './escape-html.ts';
import { type Tag, walkHtml } from './html-walk.ts';
import { TextFrame } from './text-frame.ts';

const PARAGRAPHS = new Set('p h1 h2 h3 h4 h5 h6 blockquote pre figure dl'.split(' '));
const LISTS = new Set(['ul', 'ol', 'menu', 'dir']);
const LINES = new Set(
  (
    'address article aside body caption center dd details dialog div dt fieldset figcaption footer form header hgroup ' +
    'html legend li main nav optgroup option section select summary table tbody textarea tfoot thead tr'
  ).split(' '),
);
/** An element of any name that its style puts on a line of its own. */
const LINE = /^(?:block|flex|grid|table|table-row|list-item)\b/;
const STRUCK = new Set(['del', 's', 'strike']);
/** What fills the line behind a preheader, and signs that show nothing (rust-html2text#134, nextcloud/mail#10495). */
const FILLER = /(?<![\u034f \u00a0\u00ad\u200b\u200c])[\u034f \u00a0\u00ad\u200b\u200c]{4,}$|[\u034f\u00ad]/gm;
const PRESERVED = /white-space\s*:\s*(?:pre|break-spaces)/i;

/** `10<sup>3</sup>` is no 103. */
const RAISED = { sup: '⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹', sub: '₊₋₀₁₂₃₄₅₆₇₈₉' };

/** Longer texts of links are not compared with their address. */
const LONGEST_COMPARED = 4_000;

interface Link {
  readonly href: string;
  readonly frame: TextFrame;
  text: string;
  shown: boolean;
}

/** @throws TooNestedError */
export function textOf(html: string): string {
  const whole = new TextFrame();
  const frames = [whole];
  const links: Link[] = [];
  const numbers: (number | undefined)[] = [];
  let preserved = 0;
  let begun = false;
  const frame = () => frames.at(-1) ?? whole;

  const add = (text: string) => {
    const link = links.at(-1);
    if (link !== undefined) link.shown ||= text.trim() !== '';
    if (link !== undefined && link.text.length <= LONGEST_COMPARED) link.text += text;
    // A line break right behind the tag of a preformatted text is none of it.
    if (preserved > 0) frame().addAsIs(begun ? text.replace(/^\r?\n/, '') : text);
    else frame().add(text);
    begun = false;
  };

  const open = (tag: Tag) => {
    const { name, attributes } = tag;
    const { alt = '', href = '' } = attributes;
    begun = name === 'pre' || name === 'textarea';
    if (preserves(tag)) preserved += 1;
    breakAt(tag, frame(), numbers.length > 0);
    if (LISTS.has(name)) numbers.push(name === 'ol' ? (integer(attributes['start']) ?? 1) : undefined);
    if (STRUCK.has(name)) add('~');
    switch (name) {
      case 'br':
        return frame().endLine();
      case 'hr':
        frame().break(1);
        frame().add('---');
        return frame().break(1);
      case 'img':
        for (const link of links.slice(-1)) link.shown = true;
        return isEmbedded(alt) ? undefined : add(alt);
      case 'area':
        links.push({ href, frame: frame(), text: '', shown: false });
        if (!isEmbedded(alt)) add(alt);
        return endLink(links.pop());
      case 'input':
        return /^(?:checkbox|radio)$/i.test(attributes['type'] ?? '') ? add(box('checked' in attributes)) : undefined;
      case 'optgroup':
        return add(attributes['label'] ?? '');
      case 'a':
        return links.push({ href, frame: frame(), text: '', shown: false });
      case 'li':
        frame().item(markOf(attributes['value'], numbers));
        return frame().indent('  ');
      case 'dd':
        return frame().indent('  ');
      case 'blockquote':
        return frame().indent('> ');
      case 'td':
      case 'th':
        return frames.push(new TextFrame());
    }
  };

  const close = (tag: Tag) => {
    const { name } = tag;
    if (preserves(tag)) preserved -= 1;
    if (STRUCK.has(name)) add('~');
    if (name === 'td' || name === 'th') {
      const text = String(frames.pop());
      if (name === 'th') frame().keepsEmptyCells = true;
      frame().cell(text);
    }
    if (name === 'a') endLink(links.pop());
    if (name === 'table') frame().keepsEmptyCells = false;
    if (LISTS.has(name)) numbers.pop();
    breakAt(tag, frame(), numbers.length > 0);
    if (name === 'li' || name === 'dd' || name === 'blockquote') frame().outdent();
  };

  walkHtml(html, {
    open: (tag) => (tag.hidden ? undefined : open(tag)),
    close: (tag) => (tag.hidden ? undefined : close(tag)),
    text: (text, hidden, _, around) => (hidden ? undefined : add(raised(text, around))),
  });
  // A linkifier takes a no-break space for a part of the address before it.
  return String(whole).replaceAll(FILLER, '').replaceAll('\u00a0', ' ');
}

/** Before and behind a tag. */
function breakAt(tag: Tag, frame: TextFrame, isNested: boolean): void {
  if (LISTS.has(tag.name)) frame.break(isNested ? 1 : 2);
  else if (PARAGRAPHS.has(tag.name)) frame.break(2);
  else if (isLine(tag)) frame.break(1);
  if (tag.apart) frame.add(' ');
}

const isLine = ({ name, display }: Tag): boolean => LINES.has(name) || LINE.test(display);

/** What has a sign of its own in print. */
function raised(text: string, around: string | undefined): string {
  const signs = around === 'sup' || around === 'sub' ? RAISED[around] : undefined;
  if (signs === undefined || !/^\s*[+−-]?\d+\s*$/.test(text)) return text;
  return text.replaceAll(
    /[\d+−-]/g,
    (sign) => signs[sign === '+' ? 0 : /\d/.test(sign) ? Number(sign) + 2 : 1] ?? sign,
  );
}

const preserves = ({ name, attributes }: Tag): boolean =>
  name === 'pre' || name === 'textarea' || PRESERVED.test(attributes['style'] ?? '');

const integer = (text = ''): number | undefined => (/^\s*[+-]?\d/.test(text) ? Number.parseInt(text, 10) : undefined);

function markOf(value: string | undefined, numbers: (number | undefined)[]): string {
  const number = numbers.at(-1);
  if (number === undefined) return '• ';
  const shown = integer(value) ?? number;
  numbers[numbers.length - 1] = shown + 1;
  return `${shown}. `;
}

/** The address behind the text of its link, unless the text is the address. */
function endLink(link: Link | undefined): void {
  if (link?.shown !== true) return;
  const address = writtenLink(link.href, link.text.length <= LONGEST_COMPARED ? link.text.trim() : undefined);
  if (address !== undefined) link.frame.addApart(address);
}
