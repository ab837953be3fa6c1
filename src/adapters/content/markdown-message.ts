import { Marked, type MarkedToken, type Token, type Tokens } from 'marked';
import { LINKS, wholeAddress } from './addresses.ts';
import { box } from './escape-html.ts';
import { decoded } from './html-walk.ts';

/** How a channel writes what Markdown means. A text comes escaped where another mark is put around it. */
export interface Dialect {
  readonly escape: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly italic: (text: string) => string;
  readonly struck: (text: string) => string;
  readonly code: (text: string) => string;
  readonly codeBlock: (text: string) => string;
  /** @param label empty where it is the address */
  readonly link: (address: string, label: string) => string;
  /** A line that is quoted. */
  readonly quoted: (line: string) => string;
  /** Before an item of a list without numbers. */
  readonly bullet: string;
  /** Between two lines, and between two paragraphs. */
  readonly line: string;
  readonly paragraph: string;
  readonly table: (rows: readonly (readonly string[])[]) => string;
  readonly rule: string;
  /** Writes a token that only this channel knows; undefined for all others. */
  readonly own?: (token: Token, inline: (tokens: readonly Token[]) => string) => string | undefined;
}

/** HTML has no meaning for a channel: its parser leaves it as the text that it is. */
export const chatMarkdown = (...extensions: Parameters<Marked['use']>): Marked =>
  new Marked({ tokenizer: { html: () => undefined, tag: () => undefined, ...LINKS } }, ...extensions);

/** Blocks in a dialect. Its cost is linear to the text for each level of nesting, and levels are limited. */
export function blocks(tokens: readonly Token[], dialect: Dialect, between = dialect.paragraph): string {
  return tokens
    .map((token) => block(token as MarkedToken, dialect))
    .filter((text) => text !== '')
    .join(between);
}

function block(token: MarkedToken, dialect: Dialect): string {
  switch (token.type) {
    case 'heading':
      return dialect.bold(inline(token.tokens.flatMap(withoutBold), dialect));
    case 'code':
      return dialect.codeBlock(token.text);
    case 'blockquote':
      return blocks(token.tokens, dialect)
        .split('\n')
        .map((line) => (line === '' ? '' : dialect.quoted(line)))
        .join('\n');
    case 'list':
      return list(token as Tokens.List, dialect);
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return dialect.table([header, ...rows].map((row) => row.map(({ tokens }) => inline(tokens, dialect))));
    }
    case 'hr':
      return dialect.rule;
    case 'space':
    case 'def':
    case 'checkbox':
      return '';
    default:
      return inline([token], dialect);
  }
}

/** There is no bold within bold. */
const withoutBold = (token: Token): Token[] => (token.type === 'strong' ? (token.tokens ?? []) : [token]);

function list({ items, start, ordered, loose }: Tokens.List, dialect: Dialect): string {
  const between = loose ? dialect.paragraph : '\n';
  return items
    .map(({ tokens, task, checked }, index) => {
      const mark = ordered ? `${Number(start) + index}.`.padEnd(dialect.bullet.length) : dialect.bullet;
      const tick = task ? box(checked) : '';
      const indent = ' '.repeat(mark.length + 1);
      return `${mark} ${tick}${blocks(tokens, dialect, between).replaceAll(/\n(?=[^\n])/g, `\n${indent}`)}`;
    })
    .join(between);
}

function inline(tokens: readonly Token[], dialect: Dialect): string {
  return tokens.map((token) => inlineToken(token as MarkedToken, dialect)).join('');
}

function inlineToken(token: MarkedToken, dialect: Dialect): string {
  const own = dialect.own?.(token, (tokens) => inline(tokens, dialect));
  if (own !== undefined) return own;
  switch (token.type) {
    case 'strong':
      return dialect.bold(inline(token.tokens, dialect));
    case 'em':
      return dialect.italic(inline(token.tokens, dialect));
    case 'del':
      return dialect.struck(inline(token.tokens, dialect));
    case 'codespan':
      return dialect.code(token.text);
    case 'br':
      return dialect.line;
    case 'link':
      return link(token, dialect);
    // Of a list's item, which shows it.
    case 'checkbox':
      return '';
    // Its address is for the program that shows the image.
    case 'image':
      return dialect.escape(decoded(token.text || token.title || ''));
    case 'text':
    case 'paragraph':
      return token.tokens === undefined ? texts(decoded(token.raw), dialect) : inline(token.tokens, dialect);
    case 'escape':
      return dialect.escape(token.text);
    default:
      return texts(token.raw, dialect);
  }
}

/** Every line break of a message counts: who writes one means it. */
const texts = (text: string, dialect: Dialect): string =>
  text
    .split('\n')
    .map((line) => dialect.escape(line))
    .join(dialect.line);

/** What leads nowhere outside of its page is its text alone. */
function link({ href, title, tokens }: Tokens.Link, dialect: Dialect): string {
  const label = inline(tokens, dialect).replaceAll(/\s*\n\s*/g, ' ') || dialect.escape(title ?? '');
  const address = wholeAddress(href);
  if (address === undefined) return label || dialect.escape(href);
  const isAddress = [href, address].some((one) => dialect.escape(one) === label);
  return dialect.link(address, isAddress ? '' : label);
}
