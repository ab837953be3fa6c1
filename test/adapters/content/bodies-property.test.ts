import fc from 'fast-check';
import { expect, it } from 'vitest';
import { convertContent } from '../../../src/adapters/content/convert-content.ts';
import { bodyOf } from '../../../src/adapters/email/sender.ts';
import { slackMessage } from '../../../src/adapters/slack/message.ts';
import { adaptiveCardMessage } from '../../../src/adapters/teams/card.ts';
import type { MessageFormat, NotificationContent } from '../../../src/core/model/notification.ts';
import { HTML_CASES } from '../../corpus/bodies/html.ts';
import { MARKDOWN_CASES } from '../../corpus/bodies/markdown.ts';

const BODIES: readonly (readonly [MessageFormat, string])[] = [
  ...HTML_CASES.map(({ html }) => ['HTML', html] as const),
  ...MARKDOWN_CASES.map(({ markdown }) => ['MARKDOWN', markdown] as const),
].filter(([, body]) => body.length < 2_000);

const PIECES =
  '< > & " \' ` ~ * _ [ ] ( ) | \\ \n \t # - + 1. ! { } &#0; &lt; <b> </b> <td> </td> <pre> <a href="x"> </a> ](x) あ ש'.split(
    ' ',
  );

/** A body of the corpus of which a part is left out, repeated, or replaced by a piece of markup. */
const mutated = fc
  .tuple(
    fc.constantFrom(...BODIES),
    fc.array(fc.tuple(fc.nat(), fc.nat(20), fc.constantFrom('', ...PIECES)), { maxLength: 4 }),
  )
  .map(([[format, body], changes]): NotificationContent => {
    const changed = changes.reduce((text, [place, length, piece]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + piece + text.slice(at + length);
    }, body);
    return { recipient: 'x', format, body: changed };
  });

const card = async (content: NotificationContent): Promise<string> =>
  JSON.parse(await adaptiveCardMessage(content)).attachments[0].content.body[0].text;

/** Letters and digits of what is shown, without the addresses of links. */
const words = (text: string): string =>
  text
    .replaceAll(/(?:https?:\/\/|mailto:|tel:)[^\s<>|)\]"、（」。”]*/g, '')
    .replaceAll(/&(?:amp|lt|gt);/g, '')
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Without the addresses behind the words of links, and without the marks before signs. */
const readInCard = (text: string): string => text.replaceAll(/(?<!\\)\]\([^\s()]*\)/g, ']').replaceAll('\\', '');

it('whatever becomes of a body of the corpus, no converter throws, and HTML says the same in all channels', async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(mutated, async (content) => {
      const [mail, slack, teams] = await Promise.all([
        convertContent(content, bodyOf),
        convertContent(content, slackMessage),
        convertContent(content, card),
      ]);
      if (!mail.ok || !slack.ok || !teams.ok) throw new Error('A small body was refused.');
      const text = mail.value.Text?.Data ?? '';
      if (content.format !== 'HTML') return;
      compared += 1;
      expect(words(slack.value.text)).toBe(words(text.replaceAll(/[&<>]/g, '')));
      expect(words(readInCard(teams.value))).toBe(words(text));
      const embedded = /\bdata:image|\bcid:logo/;
      // Of a tag that lost its bracket all is text.
      if (embedded.test(content.body.replaceAll(/<[^<>]*>/g, ''))) return;
      for (const one of [text, slack.value.text, teams.value]) expect(one).not.toMatch(embedded);
    }),
    { numRuns: 400 },
  );
  expect(compared).toBeGreaterThan(100);
});

it('Markdown says the same in all channels, whatever cases of the corpus follow each other', async () => {
  const cases = MARKDOWN_CASES.map(({ markdown }) => markdown).filter((one) => one.length < 2_000);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...cases), { minLength: 1, maxLength: 3 }), async (chosen) => {
      const content = { recipient: 'x', format: 'MARKDOWN', body: chosen.join('\n\n') } as const;
      const { Text } = await bodyOf(content);
      const said = (text: string) => words(text.replaceAll(/&?\b(?:amp|lt|gt);/g, ''));
      const mail = said(Text?.Data ?? '');
      expect(said((await slackMessage(content)).text)).toBe(mail);
      expect(said(readInCard(await card(content)))).toBe(mail);
    }),
    { numRuns: 200 },
  );
});
