import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hopeless, keptLetters, MAX_MARKDOWN_CHARACTERS } from '../../../src/adapters/slack/markdown-limit.ts';
import { markdownToMrkdwn } from '../../../src/adapters/slack/mrkdwn.ts';

/** What conversion drops or shortens, among words and what ends a paragraph. */
const PIECES = [
  ...['word', 'ねこ', ' ', '\n', '\n\n', '\r\n \r\n', '\n\t\n', '\n\u00a0\n', '\u2028', '  \n', '\\', '**', '_', '# '],
  ...[
    '[a](/b "title")',
    '![alt](/i.png)',
    '[a]: /long/target "title"',
    '[a]: /b\n"titled',
    '[a][b]',
    '[^1]',
    '[^1]: note',
  ],
  ...[
    '&nbsp;',
    '&CounterClockwiseContourIntegral;',
    '```lang\n',
    '~~~lang\n',
    '`x`',
    '#!perl\n',
    '<!-- ',
    ' -->',
    '<b>',
  ],
  ...['|a|\n|-|\n|b|c|', 'a\n:-\nb|c', '000001. one', '---', '===', '> ', '- ', '*bold*', '<https://a.example|text>'],
];

describe('Markdown too long for Slack', () => {
  it('is known by letters that the conversion keeps', async () => {
    const bodies = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        expect((await markdownToMrkdwn(body)).length).toBeGreaterThanOrEqual(keptLetters(body));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['prose', 'ten letters'.repeat(10), 100],
    ['several paragraphs', 'one\n\ntwo\n\nthree', 11],
    ['what comes before a link', 'before [text](https://a.example) after', 6],
    ['no definition', '[a]: https://a.example/long "title"', 0],
  ])('has the letters of %s counted', (_, body, letters) => {
    expect(keptLetters(body)).toBe(letters);
  });

  const relativeLinks = '[a](/long/relative/path)\n\n';

  it.each([
    ['prose beyond the limit', 'MARKDOWN', 'x'.repeat(40_001), 'at least 40001 characters; Slack takes at most 40000'],
    ['markup of twice the limit', 'MARKDOWN', relativeLinks.repeat(3_500), `more than ${MAX_MARKDOWN_CHARACTERS} are`],
  ] as const)('is %s', (_, format, body, why) => {
    expect(hopeless({ body, format })).toContain(why);
  });

  it.each([
    ['prose up to the limit', 'MARKDOWN', 'x'.repeat(40_000)],
    ['markup that becomes short', 'MARKDOWN', relativeLinks.repeat(3_000)],
    ['HTML of any length, cheap to convert', 'HTML', 'x'.repeat(300_000)],
    ['plain text of any length', 'PLAIN', 'x'.repeat(300_000)],
  ] as const)('is not %s', (_, format, body) => {
    expect(hopeless({ body, format })).toBeUndefined();
  });
});
