import type { MarkedToken, Token, Tokens } from 'marked';
import type { NotificationContent } from '../../core/model/notification.ts';
import { htmlToPlainText, timeBoxed } from '../content/html-text.ts';

/** chat.postMessage may truncate longer text without an error. */
export const MAX_TEXT_CHARACTERS = 40_000;

export interface SlackMessage {
  readonly text: string;
  /** False for text without formatting: its asterisks and underscores are plain characters. */
  readonly mrkdwn: boolean;
}

interface SlackMessageOptions {
  /** Whether mentions in Markdown notify those whom they name. In other formats they never do. */
  readonly mentions: boolean;
}

/** The subject, if any, becomes the first line. It is bold in a message with formatting. */
export async function slackMessage(
  { subject, body, format }: NotificationContent,
  { mentions }: SlackMessageOptions = { mentions: false },
): Promise<SlackMessage> {
  const title = subject?.replace(/\s+/g, ' ').trim();
  if (format === 'MARKDOWN') {
    const converted = await markdownToMrkdwn(body);
    const text = mentions ? converted : withoutMentions(converted);
    return { text: title ? `*${escapeMrkdwn(title).replaceAll('*', '')}*\n${text}` : text, mrkdwn: true };
  }
  const text = escapeMrkdwn(format === 'HTML' ? await htmlToPlainText(body) : body);
  return { text: title ? `${escapeMrkdwn(title)}\n${text}` : text, mrkdwn: false };
}

/** Placeholders during the conversion: characters of the private use area, which the converter takes for letters. */
const KEPT_OPEN = '\uE000';
const KEPT_CLOSE = '\uE001';
const BOLD = '\uE002';
const PLACEHOLDERS = /[\uE000-\uE002]/g;

/** In this order: code, which stays unchanged; a link or mention of Slack; Slack's bold; a Markdown line break. */
const TOKENS =
  /(```[\s\S]*?```|`[^`\n]+`)|(<(?:(?:https?|mailto|tel):[^<>|\s]+\|[^<>\n]+|[@#!][^<>\n]+)>)|(?<![*\w\\])\*(?![*\s])([^*\n]+?)(?<![\s\\])\*(?![*\w])|(?:(?<! ) {2,}|\\)(?=\n)/g;

/**
 * Converts Markdown into Slack's mrkdwn. Producers write standard Markdown (`**bold**`, `[text](url)`) and mrkdwn
 * (`*bold*`, `<url|text>`, `<@U123>`; his-notification-log-table.md, sample NL002), sometimes in one message. Mrkdwn
 * passes unchanged, and the rest is converted. Only `*word*` has a meaning in both: it counts as Slack's bold, not as
 * Markdown's italics, and stays emphasised either way. The parser is loaded on first use.
 */
export async function markdownToMrkdwn(markdown: string): Promise<string> {
  const { lexer } = await import('marked');
  return timeBoxed(() => convertWith((text) => renderBlocks(lexer(text)), markdown));
}

function convertWith(convert: (markdown: string) => string, markdown: string): string {
  const kept: string[] = [];
  const marked = markdown
    .replace(PLACEHOLDERS, '')
    .replace(TOKENS, (whole, code: string | undefined, slack: string | undefined, bold: string | undefined) => {
      if (code !== undefined) return whole;
      if (slack !== undefined) return `${KEPT_OPEN}${kept.push(slack) - 1}${KEPT_CLOSE}`;
      // Every line break is a line break for Slack. The converter would keep the backslash.
      if (bold === undefined) return '';
      // The bold text may contain a link, which this match has consumed.
      return `${BOLD}${bold.replace(TOKENS, (inner) => `${KEPT_OPEN}${kept.push(inner) - 1}${KEPT_CLOSE}`)}${BOLD}`;
    });
  return convert(marked)
    .replace(/\uE000(\d+)\uE001/g, (_, index: string) => kept[Number(index)] ?? '')
    .replaceAll(BOLD, '*')
    .trimEnd();
}

/** Without width, so that Slack does not take the name after an `@` for a mention in any of its parsing modes. */
const APART = '@\u200b';

/** Mentions: `<@U012AB3CD>`, `<!subteam^S1|@team>`, `<!here>`. A date, `<!date^…>`, notifies nobody. */
const MENTION = /<([@!](?!date\^))([^<>|\n]*)(?:\|([^<>\n]*))?>/g;

/** Replaces mentions by readable text that notifies nobody, also in code, where Slack obeys them too. */
export function withoutMentions(mrkdwn: string): string {
  return (
    mrkdwn
      .replace(
        MENTION,
        (_, _sign, id: string, label?: string) => APART + (label || id.replace(/^subteam\^/, '')).replace(/^@/, ''),
      )
      // What is left is not closed, or not in the form that Slack documents.
      .replace(/<(?=[@!](?!date\^))/g, '&lt;')
  );
}

/** Longer Markdown would have more markup than text to fit into Slack's limit, so it is not converted. */
export const MAX_MARKDOWN_CHARACTERS = 2 * MAX_TEXT_CHARACTERS;

/**
 * Says why a body is not converted to see whether it fits; undefined when it can be converted. Only Markdown is
 * limited: its parser's tokens take about a hundred times the memory of the text
 * (docs/decisions/channels/classification-and-content.md#0088).
 */
export function tooLongToConvert({ body, format }: Pick<NotificationContent, 'body' | 'format'>): string | undefined {
  if (format !== 'MARKDOWN' || body.length <= MAX_MARKDOWN_CHARACTERS) return undefined;
  return `the Markdown has ${body.length} characters; Slack takes at most ${MAX_TEXT_CHARACTERS}, and no more than ${MAX_MARKDOWN_CHARACTERS} are converted`;
}

/** Slack sees a mark of emphasis within a word only beside a space, so one without width is set. */
const NO_WIDTH = '\u200b';

/** Blocks as mrkdwn. Its cost is linear to the text for each level of nesting, and levels are limited. */
function renderBlocks(tokens: readonly Token[], between = '\n\n'): string {
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
const withoutBold = (token: Token): Token[] => (token.type === 'strong' ? (token.tokens ?? []) : [token]);

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
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
