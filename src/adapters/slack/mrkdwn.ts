import { timeBoxed } from '../content/time-box.ts';

/** Stand-ins while the Markdown converter is at work: characters of the private use area, to it nothing but letters. */
const KEPT_OPEN = '\uE000';
const KEPT_CLOSE = '\uE001';
const BOLD = '\uE002';
const OURS = /[\uE000-\uE002]/g;

/** In this order: code, which stays as it is; a link or mention in Slack's form; Slack's bold; a Markdown line break. */
const TOKENS =
  /(```[\s\S]*?```|`[^`\n]+`)|(<(?:(?:https?|mailto|tel):[^<>|\s]+\|[^<>\n]+|[@#!][^<>\n]+)>)|(?<![*\w\\])\*(?![*\s])([^*\n]+?)(?<![\s\\])\*(?![*\w])|(?:(?<! ) {2,}|\\)(?=\n)/g;

/**
 * Markdown as Slack's mrkdwn. Producers write both: standard Markdown (`**bold**`, `[text](url)`), and text that is
 * mrkdwn already (`*bold*`, `<url|text>`, `<@U123>`; his-notification-log-table.md, sample NL002), sometimes in one
 * message. What is mrkdwn passes unchanged, and the rest is converted. The one thing that both know and mean
 * differently is `*word*`: it is taken as Slack's bold rather than Markdown's italics, since it stays emphasised
 * either way. The converter is loaded on first use.
 */
export async function markdownToMrkdwn(markdown: string): Promise<string> {
  const { slackifyMarkdown } = await import('slackify-markdown');
  return timeBoxed(() => convertWith(slackifyMarkdown, markdown));
}

function convertWith(slackifyMarkdown: (markdown: string) => string, markdown: string): string {
  const kept: string[] = [];
  const marked = markdown
    .replace(OURS, '')
    .replace(TOKENS, (whole, code: string | undefined, slack: string | undefined, bold: string | undefined) => {
      if (code !== undefined) return whole;
      if (slack !== undefined) return `${KEPT_OPEN}${kept.push(slack) - 1}${KEPT_CLOSE}`;
      // To Slack any line break is one; the converter would write the backslash out.
      if (bold === undefined) return '';
      // A link may stand within the bold text, where this expression has passed over it.
      return `${BOLD}${bold.replace(TOKENS, (inner) => `${KEPT_OPEN}${kept.push(inner) - 1}${KEPT_CLOSE}`)}${BOLD}`;
    });
  return slackifyMarkdown(marked)
    .replace(/\uE000(\d+)\uE001/g, (_, index: string) => kept[Number(index)] ?? '')
    .replaceAll(BOLD, '*')
    .trimEnd();
}

/** Slack's formatting reference: these three characters are the only ones to escape. */
export function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
