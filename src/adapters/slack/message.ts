import type { NotificationContent } from '../../core/model/notification.ts';
import { htmlToPlainText } from '../content/html-text.ts';
import { escapeMrkdwn } from './escape-mrkdwn.ts';
import { withoutMentions } from './mentions.ts';
import { markdownToMrkdwn } from './mrkdwn.ts';

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
