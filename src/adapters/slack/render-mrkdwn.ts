import type { MarkedToken, Token, Tokens } from 'marked';

/** Slack sees a mark of emphasis within a word only beside a space, so one without width is set. */
const NO_WIDTH = '\u200b';

/** Blocks as mrkdwn. Its cost is linear to the text for each level of nesting, and levels are limited. */
export function renderBlocks(tokens: readonly Token[], between = '\n\n'): string {
  return tokens
    .map((token) => block(token as MarkedToken))
    .filter((text) => text !== '')
    .join(between);
}

function block(token: MarkedToken): string {
  switch (token.type) {
    case 'heading':
      return `*${inline(token.tokens.flatMap(withoutBold))}*`;
    case 'code':
      return `\`\`\`\n${token.text}\n\`\`\``;
    case 'blockquote':
      return renderBlocks(token.tokens)
        .split('\n')
        .map((line) => (line === '' ? '' : `> ${line}`))
        .join('\n');
    case 'list':
      return list(token as Tokens.List);
    case 'table':
      return table(token as Tokens.Table);
    case 'hr':
      return '---';
    case 'html':
      return escapeMrkdwn(token.raw.trimEnd());
    case 'space':
    case 'def':
    case 'checkbox':
      return '';
    default:
      return inline([token]);
  }
}

/** Slack has no bold within bold. */
function withoutBold(token: Token): Token[] {
  return token.type === 'strong' ? (token.tokens ?? []) : [token];
}

function list({ items, start, ordered, loose }: Tokens.List): string {
  const between = loose ? '\n\n' : '\n';
  return items
    .map(({ tokens, task, checked }, index) => {
      const mark = ordered ? `${Number(start) + index}.`.padEnd(3) : '•  ';
      const box = task ? `[${checked ? 'x' : ' '}] ` : '';
      return `${mark} ${box}${renderBlocks(tokens, between).replaceAll(/\n(?=[^\n])/g, '\n    ')}`;
    })
    .join(between);
}

/** Columns are not aligned: one long cell would make every row as long. */
function table({ header, rows }: Tokens.Table): string {
  const line = (cells: readonly Tokens.TableCell[]) => `| ${cells.map(({ tokens }) => inline(tokens)).join(' | ')} |`;
  return [line(header), `|${' - |'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

function inline(tokens: readonly Token[]): string {
  return tokens.map((token) => inlineToken(token as MarkedToken)).join('');
}

function inlineToken(token: MarkedToken): string {
  switch (token.type) {
    case 'strong':
      return emphasised('*', token.tokens);
    case 'em':
      return emphasised('_', token.tokens);
    case 'del':
      return emphasised('~', token.tokens);
    case 'codespan':
      return `\`${token.text}\``;
    case 'br':
      return '\n';
    case 'link':
      return link(token.href, inline(token.tokens) || escapeMrkdwn(token.title ?? ''));
    case 'image':
      return link(token.href, escapeMrkdwn(token.text || token.title || ''));
    case 'text':
    case 'paragraph':
      return token.tokens === undefined ? escapeMrkdwn(decoded(token.text)) : inline(token.tokens);
    case 'escape':
      return escapeMrkdwn(token.text);
    default:
      return escapeMrkdwn(token.raw);
  }
}

function emphasised(mark: string, tokens: readonly Token[]): string {
  return `${NO_WIDTH}${mark}${inline(tokens)}${mark}${NO_WIDTH}`;
}

/** A relative address leads nowhere in Slack, so only its text is left. */
function link(href: string, text: string): string {
  if (!/^(?:https?|mailto|tel):/i.test(href)) return text || escapeMrkdwn(href);
  const url = href.replaceAll(/[<>|\s]/g, (character) => encodeURIComponent(character));
  const label = text.replaceAll(/\s*\n\s*/g, ' ');
  return label === '' || label === escapeMrkdwn(href) ? `<${url}>` : `<${url}|${label}>`;
}

/** The named character references that templates write. Others stay as they were written. */
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  bull: '•',
  middot: '·',
  laquo: '«',
  raquo: '»',
  euro: '€',
  yen: '¥',
  deg: '°',
  times: '×',
  rarr: '→',
  larr: '←',
};

function decoded(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,6}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** Slack's formatting reference: only these three characters are escaped. */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
