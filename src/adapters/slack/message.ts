import type { NotificationContent } from '../../core/model/notification.ts';
import { timeBoxed } from '../content/conversion-timeout.ts';
import { htmlToPlainText } from '../content/html-text.ts';
import { escapeMrkdwn, renderBlocks } from './render-mrkdwn.ts';

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

/**
 * Slack's mention of a user, a user group, a channel's members: `<@U012AB3CD>`, `<!subteam^S1|@team>`, `<!here>`. A
 * date, `<!date^…>`, notifies nobody.
 */
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
