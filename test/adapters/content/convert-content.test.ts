import { describe, expect, it } from 'vitest';
import { convertContent, NESTING_LIMITS } from '../../../src/adapters/content/convert-content.ts';
import { ConversionTooSlowError, timeBoxed } from '../../../src/adapters/content/html-text.ts';
import { bodyOf } from '../../../src/adapters/email/sender.ts';
import { slackMessage } from '../../../src/adapters/slack/message.ts';
import { adaptiveCardMessage } from '../../../src/adapters/teams/card.ts';
import type { MessageFormat, NotificationContent } from '../../../src/core/model/notification.ts';

const content = (format: MessageFormat, body: string): NotificationContent => ({ recipient: 'x', format, body });
const CONVERTERS: Readonly<Record<string, (content: NotificationContent) => Promise<unknown>>> = {
  'an e-mail': bodyOf,
  'a Slack message': slackMessage,
  'a card': adaptiveCardMessage,
};

/** Each is of the size of a body, and took a converter seconds or its stack. */
const PATHOLOGICAL: readonly (readonly [MessageFormat, string, number])[] = [
  ['MARKDOWN', '>', 5_000],
  ['MARKDOWN', '>', 250_000],
  ['MARKDOWN', '> ', 100_000],
  ['MARKDOWN', '- * ', 60_000],
  ['MARKDOWN', '+ ', 100_000],
  ['MARKDOWN', '1. ', 80_000],
  ['MARKDOWN', '[', 250_000],
  ['MARKDOWN', '[a](', 60_000],
  ['MARKDOWN', '*a', 125_000],
  ['MARKDOWN', '**a', 80_000],
  ['MARKDOWN', '_a', 125_000],
  ['MARKDOWN', 'a**b', 60_000],
  ['MARKDOWN', '~~a', 80_000],
  ['MARKDOWN', '`a', 125_000],
];

describe('content that is too intricate', () => {
  it.each(PATHOLOGICAL)('in %s (%j, %i times) is refused before any converter sees it', async (format, part, times) => {
    const never = () => Promise.reject(new Error('converted all the same'));
    const started = performance.now();
    expect(await convertContent(content(format, part.repeat(times)), never)).toMatchObject({
      ok: false,
      error_type: 'FORMAT_ERROR',
      asked: false,
      message: expect.stringMatching(/^too_intricate: the (HTML|Markdown) has \d+ .{1,70}, over \d+$/),
    });
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it.each([
    ['<b>', 20_000],
    ['<div class="a">', 10_000],
    ['<li><td>', 30_000],
  ])('in HTML (%s, %i times) is refused as soon as its parser finds out', async (part, times) => {
    for (const convert of Object.values(CONVERTERS)) {
      expect(await convertContent(content('HTML', part.repeat(times)), convert)).toMatchObject({
        error_type: 'FORMAT_ERROR',
        asked: false,
        message: expect.stringMatching(/^too_intricate: the HTML has more than 500 tags open at once$/),
      });
    }
  });

  it('as a list within a list within a list is refused', async () => {
    const body = Array.from({ length: 100 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n');
    expect(await convertContent(content('MARKDOWN', body), bodyOf)).toMatchObject({ error_type: 'FORMAT_ERROR' });
  });

  it('in a way without a limit is refused when it exhausts the converter; other failures are thrown', async () => {
    const deep = (): Promise<never> => Promise.resolve().then(deepest);
    const deepest = (): never => deepest();
    expect(await convertContent(content('HTML', 'x'), deep)).toMatchObject({
      error_type: 'FORMAT_ERROR',
      asked: false,
    });
    const broken = () => Promise.reject(new TypeError('a defect'));
    await expect(convertContent(content('HTML', 'x'), broken)).rejects.toThrow('a defect');
  });
});

describe('content of many parts', () => {
  it.each([
    ['HTML', '<p>One<p>Two<br><img src="a"><ul><li>x<li>y</ul>'.repeat(1_000)],
    ['HTML', `${'<table><tr><td>'.repeat(50)}x${'</table>'.repeat(50)}`],
    ['HTML', `${'<div>'.repeat(499)}x${'</div>'.repeat(499)}`],
    ['MARKDOWN', '- **one**: `two`\n'.repeat(500)],
    ['MARKDOWN', `\`\`\`\n${'a_b_c[0] *p\n'.repeat(3_000)}\`\`\``],
    ['MARKDOWN', `a\n\n${'* '.repeat(40)}\n\nb\n\n${'-'.repeat(200)}`],
    ['MARKDOWN', '> > > quoted **thrice**\n'.repeat(100)],
    ['PLAIN', '>'.repeat(100_000)],
  ] as const)('in %s is converted on every channel (%#)', { timeout: 60_000 }, async (format, body) => {
    for (const [name, convert] of Object.entries(CONVERTERS)) {
      expect(await convertContent(content(format, body), convert), name).toMatchObject({ ok: true });
    }
  });

  it('has a limit that is stated for every format', () => {
    expect(Object.keys(NESTING_LIMITS)).toEqual(['PLAIN', 'HTML', 'MARKDOWN']);
  });
});

describe('the time box of a conversion', () => {
  it('ends an endless conversion, and allows the next one', () => {
    const forEver = () => {
      for (;;);
    };
    expect(() => timeBoxed(forEver, 20)).toThrow(ConversionTooSlowError);
    expect(timeBoxed(() => 'fine')).toBe('fine');
  });

  it('throws the errors of the converter', () => {
    expect(() =>
      timeBoxed(() => {
        throw new TypeError('its own');
      }),
    ).toThrow(new TypeError('its own'));
  });
});
