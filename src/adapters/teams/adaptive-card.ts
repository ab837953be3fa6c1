import type { NotificationContent } from '../../core/model/notification.ts';
import { htmlToPlainText } from '../content/html-text.ts';

/** Teams documentation, limits: a message posted to a webhook may have about 28 KB. */
export const MAX_CARD_BYTES = 28 * 1024;

interface TextBlock {
  readonly type: 'TextBlock';
  readonly text: string;
  readonly wrap: true;
  readonly weight?: 'Bolder';
  readonly size?: 'Medium';
}

/**
 * The message for a Workflows webhook: an Adaptive Card 1.4 with the subject, if there is one, above the body. The
 * card's Markdown is a subset (emphasis, lists, links), so Markdown goes in as it is; HTML becomes text; in both
 * plain forms Markdown's characters are escaped, so that a file name does not turn italic.
 */
export async function adaptiveCardMessage(content: NotificationContent): Promise<string> {
  const blocks: TextBlock[] = [];
  if (content.subject) {
    blocks.push({ type: 'TextBlock', text: literal(content.subject), weight: 'Bolder', size: 'Medium', wrap: true });
  }
  blocks.push({ type: 'TextBlock', text: await cardText(content), wrap: true });
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

async function cardText({ body, format }: NotificationContent): Promise<string> {
  if (format === 'MARKDOWN') return body;
  return literal(format === 'HTML' ? await htmlToPlainText(body) : body);
}

/**
 * What Markdown would take for emphasis, a link or a list at the start of a line. An underscore inside a word and
 * anything inside a URL mean nothing to it, and stay, so that addresses stay clickable.
 */
function literal(text: string): string {
  return text
    .split(/(https?:\/\/\S+)/)
    .map((part, index) => (index % 2 === 1 ? part : escapeMarkdown(part)))
    .join('');
}

function escapeMarkdown(text: string): string {
  return text
    .replace(/[\\*[\]]/g, '\\$&')
    .replace(/(?<!\w)_|_(?!\w)/g, '\\_')
    .replace(/^(\s*)([-+])(?=\s)/gm, '$1\\$2')
    .replace(/^(\s*\d+)\.(?=\s)/gm, '$1\\.');
}
