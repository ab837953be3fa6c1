import type { Tokens } from 'marked';
import type { NotificationContent } from '../../core/model/notification.ts';
import { htmlToPlainText, timeBoxed } from '../content/html-text.ts';
import type { Dialect } from '../content/markdown-message.ts';

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
    const text = await markdownToMrkdwn(body, { mentions });
    return { text: title ? `*${escapeMrkdwn(title).replaceAll('*', '')}*\n${text}` : text, mrkdwn: true };
  }
  const text = escapeMrkdwn(format === 'HTML' ? await htmlToPlainText(body) : body);
  return { text: title ? `${escapeMrkdwn(title)}\n${text}` : text, mrkdwn: false };
}

/** A link or a mention of Slack, as its own formatting writes them. */
const OWN_LINK = /^<(?:(?:https?|mailto|tel):[^<>|\s]+\|[^<>\n]+|[@#][^<>\n]+|![a-z][^<>\n]+)>/;
/** Slack's bold, which ends where its words do. */
const OWN_BOLD = /^\*(?![*\s])([^*\n]+?)(?<![\s\\])\*(?![*\w])/;

/** Standard Markdown, and what of mrkdwn means something else or nothing there. Code has neither. */
const parser = (marked: typeof import('../content/markdown-message.ts')) =>
  marked.chatMarkdown({
    extensions: [
      {
        name: 'slack',
        level: 'inline',
        start: (text) => text.indexOf('<'),
        tokenizer(text) {
          const [raw] = OWN_LINK.exec(text) ?? [];
          return raw === undefined ? undefined : { type: 'slack', raw };
        },
      },
    ],
    tokenizer: {
      emStrong(text, _, before) {
        const [raw, inner = ''] = before !== undefined && /[*\w\\]/.test(before) ? [] : (OWN_BOLD.exec(text) ?? []);
        if (raw === undefined) return false;
        return { type: 'em', raw, text: inner, tokens: this.lexer.inlineTokens(inner) };
      },
    },
  });

/**
 * Converts Markdown into Slack's mrkdwn. Producers write standard Markdown (`**bold**`, `[text](url)`) and mrkdwn
 * (`*bold*`, `<url|text>`, `<@U123>`; his-notification-log-table.md, sample NL002), sometimes in one message. Mrkdwn
 * passes unchanged, and the rest is converted. Only `*word*` has a meaning in both: it counts as Slack's bold, not as
 * Markdown's italics, and stays emphasised either way. The parser is loaded on first use.
 */
export async function markdownToMrkdwn(
  markdown: string,
  { mentions }: SlackMessageOptions = { mentions: false },
): Promise<string> {
  const converters = await import('../content/markdown-message.ts');
  const own: Dialect['own'] = (token, inline) => {
    if (token.type === 'slack') return mentions ? token.raw : withoutMention(token.raw);
    if (token.type === 'em' && /^\*[^*]+\*$/.test(token.raw)) return `*${inline((token as Tokens.Em).tokens)}*`;
    return undefined;
  };
  return timeBoxed(() => converters.blocks(parser(converters).lexer(markdown), { ...MRKDWN, own }).trimEnd());
}

/** Slack sees a mark of emphasis within a word only beside a space, so one without width is set. */
const NO_WIDTH = '\u200b';
const emphasised = (mark: string) => (text: string) => `${NO_WIDTH}${mark}${text}${mark}${NO_WIDTH}`;

const MRKDWN: Dialect = {
  escape: escapeMrkdwn,
  bold: emphasised('*'),
  italic: emphasised('_'),
  struck: emphasised('~'),
  // Slack knows no longer marks: with three, code may have one and two.
  code: (text) => (text.includes('`') ? `\`\`\`${fenced(text)}\`\`\`` : `\`${escapeMrkdwn(text)}\``),
  codeBlock: (text) => `\`\`\`\n${fenced(text)}\n\`\`\``,
  link: (address, label) => (label === '' ? `<${address}>` : `<${address}|${label}>`),
  quoted: (line) => `> ${line}`,
  bullet: '•  ',
  line: '\n',
  paragraph: '\n\n',
  // Columns are not aligned: one long cell would make every row as long.
  table: ([header = [], ...rows]) => [rowOf(header), `|${' - |'.repeat(header.length)}`, ...rows.map(rowOf)].join('\n'),
  rule: '---',
};

/** Three marks would end the code, so something without width holds them apart. */
const fenced = (text: string): string => escapeMrkdwn(text).replaceAll(/``(?=`)|^(?=`)|(?<=`)$/g, `$&${NO_WIDTH}`);

const rowOf = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Without width, so that Slack does not take the name after an `@` for a mention in any of its parsing modes. */
const APART = '@\u200b';

/** Mentions: `<@U012AB3CD>`, `<!subteam^S1|@team>`, `<!here>`. A date, `<!date^…>`, notifies nobody. */
const MENTION = /^<([@!](?!date\^))([^<>|\n]*)(?:\|([^<>\n]*))?>$/;

/** A mention as readable text that notifies nobody. */
const withoutMention = (raw: string): string =>
  raw.replace(
    MENTION,
    (_, _sign, id: string, label?: string) => APART + (label || id.replace(/^subteam\^/, '')).replace(/^@/, ''),
  );

/** Longer Markdown would have more markup than text to fit into Slack's limit, so it is not converted. */
export const MAX_MARKDOWN_CHARACTERS = 2 * MAX_TEXT_CHARACTERS;

/**
 * Says why a body is not converted to see whether it fits; undefined when it can be converted. Only Markdown is
 * limited: its parser's tokens take about a hundred times the memory of the text
 * (docs/decisions/channels/classification-and-content.md#0088).
 */
export function tooLongToConvert({ body, format }: Pick<NotificationContent, 'body' | 'format'>): string | undefined {
  if (format !== 'MARKDOWN' || body.length <= MAX_MARKDOWN_CHARACTERS) return undefined;
  return `the Markdown has ${body.length} characters; at most ${MAX_MARKDOWN_CHARACTERS} are converted for Slack`;
}

/** Slack's formatting reference: only these three characters are escaped. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
