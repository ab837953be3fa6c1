import type { NotificationContent } from '../../core/model/notification.ts';
import { htmlToPlainText } from '../content/html-text.ts';

/** Teams documentation, limits: a message to a webhook may have about 28 KB. */
export const MAX_CARD_BYTES = 28 * 1024;

interface TextBlock {
  readonly type: 'TextBlock';
  readonly text: string;
  readonly wrap: true;
  readonly weight?: 'Bolder';
  readonly size?: 'Medium';
}

/**
 * The message for a Workflows webhook: an Adaptive Card 1.4 with the subject, if any, above the body. Cards show a
 * subset of Markdown (emphasis, lists, links), so a Markdown body stays unchanged. HTML becomes text. In HTML and
 * plain text the characters of Markdown are escaped, so that a file name does not become italic.
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
 * Escapes what Markdown would show as emphasis, as a link or as a list at the start of a line. An underscore inside a
 * word and all characters of a URL have no meaning in Markdown. They stay, so that links remain clickable.
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
