import { createRequire } from 'node:module';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decoded } from '../../src/adapters/content/html-walk.ts';
import { bodyOf } from '../../src/adapters/email/sender.ts';
import { adaptiveCardMessage } from '../../src/adapters/teams/card.ts';
import type { MessageFormat, NotificationContent } from '../../src/core/model/notification.ts';
import { HTML_CASES } from '../corpus/bodies/html.ts';
import { CARD_CASES, MARKDOWN_CASES } from '../corpus/bodies/markdown.ts';
import { hasTool, NODE_TOOLS } from '../support/tools/tools.ts';

const MARKDOWN_IT = join(NODE_TOOLS, 'markdown-it');

/** The text of a card as markdown-it reads it, which Microsoft's renderer of cards asks. */
async function shownIn(content: NotificationContent): Promise<string> {
  const MarkdownIt = createRequire(MARKDOWN_IT)('markdown-it');
  const [{ text }] = JSON.parse(await adaptiveCardMessage(content)).attachments[0].content.body;
  const html: string = new MarkdownIt().render(text);
  return decoded(html.replaceAll(/<[^<>]*>/g, ''));
}

/** Letters and digits, without the addresses of links. */
const words = (text: string): string =>
  text.replaceAll(/(?:https?:\/\/|mailto:|tel:)[^\s<>|)\]"]*/g, '').replaceAll(/[^\p{L}\p{N}]/gu, '');
/** Numbers of lists are elements in a card. */
const unnumbered = (text: string): string => text.replaceAll(/^\s*\d+\. /gm, '');
const squeezed = (text: string): string => text.replaceAll(/[\s\u200b]+/g, '');

const BODIES: readonly (readonly [MessageFormat, string])[] = [
  ...HTML_CASES.map(({ html }) => ['HTML', html] as const),
  ...MARKDOWN_CASES.map(({ markdown }) => ['MARKDOWN', markdown] as const),
];
const SIGNS =
  '* _ ** __ ~~ ` \\ [ ] ( ) # - + > ! 1. & &amp; {{DATE(x)}} a b 日 C:\\new https://e.example/_a_?b=*c* \n'.split(' ');

describe.skipIf(!hasTool('markdown-it', MARKDOWN_IT))('a card, as another reader of Markdown shows it', () => {
  it.each(BODIES.filter(([, body]) => body.length < 2_000))(
    'has the words of the mail (%s): %s',
    async (format, body) => {
      const content = { recipient: 'x', format, body };
      const { Text } = await bodyOf(content);
      const mail = Text?.Data ?? '';
      expect(words(await shownIn(content))).toBe(words(format === 'MARKDOWN' ? unnumbered(mail) : mail));
    },
  );

  it('shows each sign of a plain text, whatever it means in Markdown', async () => {
    const texts = [
      ...CARD_CASES.map(([text]) => text),
      ...fc
        .sample(fc.array(fc.constantFrom(...SIGNS, ' '), { maxLength: 12 }), { numRuns: 2_000, seed: 1 })
        .map((signs) => signs.join('')),
    ];
    for (const body of texts) {
      const shown = await shownIn({ recipient: 'x', format: 'PLAIN', body });
      expect(squeezed(shown), body).toBe(squeezed(body));
    }
  });
});
