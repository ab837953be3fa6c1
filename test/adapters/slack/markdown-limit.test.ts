import { describe, expect, it } from 'vitest';
import { MAX_MARKDOWN_CHARACTERS, tooLongToConvert } from '../../../src/adapters/slack/message.ts';

describe('Markdown too long for Slack', () => {
  const relativeLinks = '[a](/long/relative/path)\n\n';

  it('is not converted when it has more than twice the characters', () => {
    const body = relativeLinks.repeat(3_500);
    expect(tooLongToConvert({ body, format: 'MARKDOWN' })).toContain(
      `at most ${MAX_MARKDOWN_CHARACTERS} are converted`,
    );
  });

  it.each([
    ['markup that may become short', 'MARKDOWN', relativeLinks.repeat(3_000)],
    ['HTML of any length, cheap to convert', 'HTML', 'x'.repeat(300_000)],
    ['plain text of any length', 'PLAIN', 'x'.repeat(300_000)],
  ] as const)('is not %s', (_, format, body) => expect(tooLongToConvert({ body, format })).toBeUndefined());
});
