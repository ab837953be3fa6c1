import { type Handler, Parser } from 'htmlparser2';
import { TooNestedError } from './convert-content.ts';

/** Far above what a template writes. A parser looks through all open tags at each end tag. */
export const MOST_OPEN_TAGS = 500;

export interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Whether a reader sees what is in it. */
  readonly hidden: boolean;
  /** `display` of its style. */
  readonly display: string;
  /** A reader sees it apart from what stands beside it. */
  readonly apart: boolean;
}

/** What a walk meets, in the order of the document. Each opened element is closed, also where its end tag is missing. */
export interface Walker {
  open?(tag: Tag, parser: Parser): void;
  close?(tag: Tag, end: 'tag' | 'implied' | 'end of text', parser: Parser): void;
  text?(text: string, hidden: boolean, parser: Parser, around: string | undefined): void;
  attribute?(name: string, value: string, quote: string | undefined | null): void;
}

/** Elements that show nothing of their text. */
const UNSEEN = new Set(
  'title style script template iframe noembed noframes object audio video canvas svg math datalist'.split(' '),
);

/** Longer styles hide nothing. */
const LONGEST_STYLE = 2_000;
/** As in `0`, `0px`, `0.0em`, with `!important` or without. */
const ZERO = /^0+(?:\.0*)?(?![\d.])/;
const TINY = /^(?:0+(?:\.\d*)?|\.\d+|0*1(?:\.0*)?(?:px|pt))(?![\d.])/;

interface OpenTag extends Tag {
  /** A text of this size is not seen; an element in it may set another size. */
  readonly tiny: boolean;
}

/** Walks through the HTML in time linear to its length. @throws TooNestedError */
export function walkHtml(html: string, walker: Walker, most = MOST_OPEN_TAGS): void {
  const stack: OpenTag[] = [];
  let over = false;
  const handler: Partial<Handler> = {
    onopentag(name, attributes) {
      const tag = openTag(name, attributes, stack.at(-1));
      stack.push(tag);
      if (stack.length > most) {
        throw new TooNestedError(`has more than ${most} tags open at once`);
      }
      walker.open?.(tag, parser);
    },
    onclosetag(_, implied) {
      const tag = stack.pop();
      if (tag !== undefined) walker.close?.(tag, over ? 'end of text' : implied ? 'implied' : 'tag', parser);
    },
    ontext(text) {
      const around = stack.at(-1);
      walker.text?.(text, around !== undefined && (around.hidden || around.tiny), parser, around?.name);
    },
    ...(walker.attribute !== undefined && { onattribute: walker.attribute }),
  };
  const parser: Parser = new Parser(handler, { decodeEntities: true });
  parser.write(html);
  over = true;
  parser.end();
}

function openTag(name: string, attributes: Readonly<Record<string, string>>, around: OpenTag | undefined): OpenTag {
  const style = declarations(attributes['style']);
  const hidden = around?.hidden === true || UNSEEN.has(name) || attributes['hidden'] !== undefined || hides(style);
  const { 'font-size': size, display = '' } = style;
  const apart = name === 'button' || /flex|grid/.test(around?.display ?? '');
  const tiny = size === undefined ? (around?.tiny ?? false) : TINY.test(size);
  return { name, attributes, hidden, display, apart, tiny };
}

type Style = Readonly<Record<string, string>>;
const NO_STYLE: Style = {};

/** Elements of a kind have the same style, and a page has thousands of them. */
const read = new Map<string, Style>();
const MOST_READ = 200;

function declarations(style: string | undefined): Style {
  if (style === undefined || style.length > LONGEST_STYLE) return NO_STYLE;
  const known = read.get(style);
  if (known !== undefined) return known;
  if (read.size >= MOST_READ) read.clear();
  const found = style.split(';').flatMap((one) => {
    const colon = one.indexOf(':');
    return colon < 0 ? [] : [[one.slice(0, colon), one.slice(colon + 1)].map((part) => part.trim().toLowerCase())];
  });
  const declared = Object.fromEntries(found);
  read.set(style, declared);
  return declared;
}

/** How mails hide their preheader, and what is for another width of the screen. */
function hides(style: Style): boolean {
  const is = (property: string, value: RegExp) => value.test(style[property] ?? '');
  const flat = is('max-height', ZERO) || is('height', ZERO) || is('max-width', ZERO) || is('width', ZERO);
  return (
    is('display', /^none/) ||
    is('visibility', /^hidden/) ||
    is('mso-hide', /^all/) ||
    is('opacity', ZERO) ||
    (flat && is('overflow', /^hidden/))
  );
}

/** A text with its character references read, as Markdown has them: with their semicolon. */
export const decoded = (text: string): string => text.replaceAll(/&#?\w{1,40};/g, decodedReference);

function decodedReference(reference: string): string {
  let found = '';
  const parser = new Parser({ ontext: (text) => (found += text) }, { decodeEntities: true });
  parser.end(reference);
  return found;
}
