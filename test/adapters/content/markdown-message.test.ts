import { describe, expect, it } from 'vitest';
import { bodyOf } from '../../../src/adapters/email/sender.ts';
import { slackMessage } from '../../../src/adapters/slack/message.ts';
import { adaptiveCardMessage, cardBytes } from '../../../src/adapters/teams/card.ts';
import type { NotificationContent } from '../../../src/core/model/notification.ts';
import { CARD_CASES, MARKDOWN_CASES } from '../../corpus/bodies/markdown.ts';

const content = (body: string, format: NotificationContent['format']): NotificationContent => ({
  recipient: 'x',
  body,
  format,
});

async function cardTexts(of: NotificationContent): Promise<readonly string[]> {
  const { attachments } = JSON.parse(await adaptiveCardMessage(of));
  return attachments[0].content.body.map(({ text }: { text: string }) => text);
}

describe('Markdown of a notification', () => {
  it.each(MARKDOWN_CASES.map((one) => [one.why, one.markdown.slice(0, 80), one] as const))(
    'shows the same in Slack, Teams and the text of a mail: %s: %s',
    async (_, __, { markdown, slack, teams, text }) => {
      const given = content(markdown, 'MARKDOWN');
      expect((await slackMessage(given)).text.replaceAll('\u200b', '')).toBe(slack);
      expect(await cardTexts(given)).toEqual([teams]);
      expect((await bodyOf(given)).Text?.Data).toBe(text);
    },
  );
});

describe('plain text in a card', () => {
  it.each(CARD_CASES)('is shown as it is: %j', async (text, card) => {
    expect(await cardTexts(content(text, 'PLAIN'))).toEqual([card]);
  });

  it('has a subject of one line', async () => {
    const given = { ...content('x', 'PLAIN'), subject: ' Disk\r\nfull\t*now* ' };
    expect(await cardTexts(given)).toEqual(['Disk full \\*now\\*', 'x']);
  });

  it('is measured as a text in JSON, in which quotes take two bytes', async () => {
    const card = await adaptiveCardMessage(content('"'.repeat(100), 'PLAIN'));
    const longer = await adaptiveCardMessage(content('"'.repeat(101), 'PLAIN'));
    expect(cardBytes(longer) - cardBytes(card)).toBe(4);
  });
});
