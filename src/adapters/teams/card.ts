import type { NotificationContent } from '../../core/model/notification.ts';
import { htmlToPlainText, timeBoxed } from '../content/html-text.ts';
import type { Dialect } from '../content/markdown-message.ts';

interface TextBlock {
  readonly type: 'TextBlock';
  readonly text: string;
  readonly wrap: true;
  readonly weight?: 'Bolder';
  readonly size?: 'Medium';
}

/**
 * The message for a Workflows webhook: an Adaptive Card 1.4 with the subject, if any, above the body. Cards show a
 * subset of Markdown (emphasis, lists, links), into which Markdown is converted; HTML becomes text. Text is escaped, so
 * that a file name does not become italic, and its line breaks are doubled: a single one is a blank outside of lists.
 */
export async function adaptiveCardMessage(content: NotificationContent): Promise<string> {
  const blocks: TextBlock[] = [];
  const subject = content.subject?.replace(/\s+/g, ' ').trim();
  if (subject) blocks.push({ type: 'TextBlock', text: literal(subject), weight: 'Bolder', size: 'Medium', wrap: true });
  // An exclamation mark before a link is no image: something without width holds them apart.
  const text = (await cardText(content)).replaceAll('![', '!\u200b[');
  blocks.push({ type: 'TextBlock', text, wrap: true });
  return JSON.stringify({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: blocks,
        },
      },
    ],
  });
}

/**
 * Bytes of the card as the flow may receive it, as a string within JSON: a card of 28 KB full of quotes has 45 KB there,
 * and was answered with 202 all the same. Most that is sent (Teams' documentation, limits: about 28 KB).
 */
export const cardBytes = (message: string): number => Buffer.byteLength(JSON.stringify(message));
export const MAX_CARD_BYTES = 28 * 1024;

async function cardText({ body, format }: NotificationContent): Promise<string> {
  if (format !== 'MARKDOWN') return literal(format === 'HTML' ? await htmlToPlainText(body) : body);
  const { blocks, chatMarkdown } = await import('../content/markdown-message.ts');
  return timeBoxed(() => blocks(chatMarkdown().lexer(body), CARD));
}

const BREAK = '\n\n';

/** The Markdown of a card. It has no code, no headings, no quotes and no tables: these are text. */
const CARD: Dialect = {
  escape: (text) => escapedLine(text.replaceAll(/[ \t]+/g, ' ')),
  bold: (text) => `**${text}**`,
  // An underscore within a word is none (CommonMark, 6.2).
  italic: (text) => `*${text}*`,
  struck: (text) => `~${text}~`,
  code: literalLine,
  codeBlock: literal,
  link: (address, label) => cardLink(address, label || escapeMarkdown(address)),
  quoted: (line) => line,
  bullet: '-',
  line: BREAK,
  paragraph: BREAK,
  table: (rows) => rows.map((cells) => cells.join(' | ')).join(BREAK),
  rule: '\\---',
};

/** Text with the lines that it has. */
function literal(text: string): string {
  return text
    .split(/\r\n?|\n/)
    .map(literalLine)
    .filter((line) => line !== '')
    .join(BREAK);
}

/** Brackets within are its own; what ends a sentence or an emphasis is not. */
const URL_IN_TEXT = /(https?:\/\/(?:[^\s<>"()]|\([^\s<>"()]*\))*(?:[^\s<>"()'.,:;!?\]*~]|\([^\s<>"()]*\)))/;

/**
 * Escapes what Markdown would show as emphasis, as a link, or as a block at the start of a line. An underscore inside a
 * word has no meaning in Markdown. URLs stay clickable.
 */
function escapedLine(line: string): string {
  return line
    .split(URL_IN_TEXT)
    .map((part, index) => (index % 2 === 1 ? shownUrl(part) : escapeMarkdown(part)))
    .join('')
    .replace(/^(\s*)([-+#](?=\s|[-#>]|$)|>)/, '$1\\$2')
    .replace(/^(\s*\d+)([.)])(?=\s|$)/, '$1\\$2');
}

/** Emphasis is found before addresses are, so one that has its marks is a link in so many words. */
function shownUrl(url: string): string {
  const escaped = escapeMarkdown(url);
  return escaped === url ? url : cardLink(url, escaped);
}

const ENCODED: Readonly<Record<string, string>> = { '(': '%28', ')': '%29', '\\': '%5C' };

const cardLink = (address: string, label: string): string =>
  `[${label}](${address.replaceAll(/[()\\]/g, (sign) => ENCODED[sign] ?? sign)})`;

/** A line whose blanks count: Markdown shows one of several, and none at its beginning. */
function literalLine(line: string): string {
  return escapedLine(line).replaceAll(/^[ \t]+|(?<=\S)(?: {2,}|\t+)/g, (blanks) =>
    '\u00a0'.repeat(blanks.replaceAll('\t', '    ').length),
  );
}

/** A card fills `{{DATE(…)}}` and `{{TIME(…)}}` in; something without width holds their braces apart. */
function escapeMarkdown(text: string): string {
  return text
    .replaceAll(/[\\*[\]`]|~~|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?\w+;)/gu, (mark) =>
      mark === '~~' ? '\\~\\~' : `\\${mark}`,
    )
    .replaceAll(/\{(?=\{(?:DATE|TIME)\()/gi, '{\u200b');
}
