import { describe, expect, it } from 'vitest';
import { slackMessage, markdownToMrkdwn as toMrkdwn } from '../../../src/adapters/slack/message.ts';

/** his-notification-log-table.md, sample NL002. */
const SAMPLE =
  ':warning: *目標期限のお知らせ* :warning:\n\n山田太郎さんの目標「Java認定資格取得」の期限が近づいています。\n\n• 期限: 2025-06-30\n• 残り日数: 29日\n• 進捗率: 75%\n\n<https://system.company.com/goals/456|詳細を確認する>';

const markdownToMrkdwn = (markdown: string) => toMrkdwn(markdown, { mentions: true });

/** The converter sets zero-width spaces around emphasis, so that Slack sees it within words. */
const visible = (text: string) => text.replaceAll('\u200b', '');

describe('Markdown for Slack', () => {
  it("keeps the table document's sample, which is mrkdwn already, unchanged", async () => {
    expect(await markdownToMrkdwn(SAMPLE)).toBe(SAMPLE);
  });

  it('ends no code where marks of code stand in it', async () => {
    expect(await markdownToMrkdwn('``a ` b`` and `` `x` ``')).toBe('```a ` b``` and ```\u200b`x`\u200b```');
    const marks = '``\u200b`';
    expect(await markdownToMrkdwn('````\n```\nx\n```\n````')).toBe(`\`\`\`\n${marks}\nx\n${marks}\u200b\n\`\`\``);
  });

  it.each([
    ['bold', '**now**', '*now*'],
    ['italics with underscores', '_now_', '_now_'],
    ['struck text', '~~now~~', '~now~'],
    ['a heading', '# Now\n\ntext', '*Now*\n\ntext'],
    ['a link', '[here](https://example.com/?a=1&b=2)', '<https://example.com/?a=1&b=2|here>'],
    ['a list', '* one\n* two', '•   one\n•   two'],
    ['a list in a list', '- a\n- b\n  - c\n    - d\n- e', '•   a\n•   b\n    •   c\n        •   d\n•   e'],
    ['a numbered list', '3. a\n4. b\n   - c', '3.  a\n4.  b\n    •   c'],
    ['a list of paragraphs', '- a\n\n  para\n- b', '•   a\n\n    para\n\n•   b'],
    ['a list of tasks', '- [ ] a\n- [x] **b**', '•   ☐ a\n•   ☑ *b*'],
    ['a quote', '> a\n> **b**\n\nc', '> a\n> *b*\n\nc'],
    ['a quote in a quote', '> > a', '> > a'],
    ['code', '```js\na < b\n```\n\n    c', '```\na &lt; b\n```\n\n```\nc\n```'],
    ['a table', '| a | b |\n|-|-|\n| 1 | **2** |', '| a | b |\n| - | - |\n| 1 | *2* |'],
    ['an image', '![alt](https://x.example/z.png)', 'alt'],
    ['a link without a text', '[](https://a.example)', '<https://a.example>'],
    ['a link by reference', '[a][r]\n\n[r]: https://x.example "t"', '<https://x.example|a>'],
    ['a relative link', '[rel](/x)', 'rel'],
    [
      'an address',
      'https://a.example/c?d=e&f=g and <https://b.example>',
      '<https://a.example/c?d=e&f=g> and <https://b.example>',
    ],
    ['a mail address', 'a@b.example', '<mailto:a@b.example|a@b.example>'],
    ['a heading with bold', '# A **b** c', '*A b c*'],
    ['character references', '&amp; &lt; &copy; &#12354;&#x3042; &unknown;', '&amp; &lt; © ああ &amp;unknown;'],
    ['an escaped character', '\\# a\\_b', '# a_b'],
    [
      'HTML, which Slack does not know',
      '<b>x</b> y\n\n<div>\na\n</div>',
      '&lt;b&gt;x&lt;/b&gt; y\n\n&lt;div&gt;\na\n&lt;/div&gt;',
    ],
    ['bold italics', '***x***', '_*x*_'],
    ['a link over two lines', '[a\nb](https://c.example/<d>)', '<https://c.example/%3Cd%3E|a b>'],
    ['special characters', 'a < b & c', 'a &lt; b &amp; c'],
    ['a line break with spaces or a backslash', 'one  \ntwo\\\nthree', 'one\ntwo\nthree'],
  ])('turns %s into mrkdwn', async (_, markdown, mrkdwn) => {
    expect(visible(await markdownToMrkdwn(markdown))).toBe(mrkdwn);
  });

  it.each([
    ['a link with a text', '<https://example.com/a_b_c|a *b* c>'],
    ['a mail link', '<mailto:ops@example.com|ops>'],
    ['a mention', '<@U012AB3CD> and <#C024BE7LR|general> and <!here> and <!subteam^SAZ94GDB8>'],
    ['bold', '*now* and (*then*)'],
    ['a link within bold', '*see <https://example.com/x_y_z|this> first*'],
    ['code', '`*not bold* [a](b)`'],
    ['a code block', '```\n*not bold* \\\n[a](b)  \n```'],
    ['an emoji', ':white_check_mark: done'],
  ])('keeps %s of mrkdwn', async (_, text) => expect(visible(await markdownToMrkdwn(text))).toBe(text));

  it('accepts both in one message', async () => {
    const text = await markdownToMrkdwn('**A** *b* [c](https://c.example) <https://d.example|d>');
    expect(visible(text)).toBe('*A* *b* <https://c.example|c> <https://d.example|d>');
  });
});

describe('a Slack message', () => {
  const content = { recipient: '#ops', body: 'a *b* <c> & d', subject: 'Disk\nfull' };

  it('in plain text is escaped and not formatted', async () => {
    expect(await slackMessage({ ...content, format: 'PLAIN' })).toEqual({
      text: 'Disk full\na *b* &lt;c&gt; &amp; d',
      mrkdwn: false,
    });
  });

  it('in HTML becomes text', async () => {
    const html = '<p>Hello <b>you</b> &amp; all</p><a href="https://example.com">more</a>';
    expect(await slackMessage({ recipient: '#ops', body: html, format: 'HTML' })).toEqual({
      text: 'Hello you &amp; all\n\nmore https://example.com',
      mrkdwn: false,
    });
  });

  it('in Markdown has the subject in bold as its first line', async () => {
    const message = await slackMessage({ ...content, body: 'text', subject: 'a*b & c', format: 'MARKDOWN' });
    expect(message).toEqual({ text: '*ab &amp; c*\ntext', mrkdwn: true });
  });
});

describe('a mention that the integration does not allow', () => {
  const content = { recipient: '#ops', format: 'MARKDOWN' } as const;
  const text = async (body: string, options?: { mentions: boolean }) =>
    (await slackMessage({ ...content, body }, options)).text.replaceAll('\u200b', '');

  it.each([
    ['<!channel> read **this**', '@channel read *this*'],
    ['<!here|here> <!everyone>', '@here @everyone'],
    ['<@U012AB3CD> and <@U012AB3CD|Tanaka>', '@U012AB3CD and @Tanaka'],
    ['<!subteam^SAZ94GDB8> <!subteam^SAZ94GDB8|@team>', '@SAZ94GDB8 @team'],
    ['*bold <!channel>* and > <!here>', '*bold @channel* and &gt; @here'],
    [
      '`<!channel>` and\n\n```\n<@U012AB3CD>\n<!here\n```',
      '`&lt;!channel&gt;` and\n\n```\n&lt;@U012AB3CD&gt;\n&lt;!here\n```',
    ],
    ['[see <!channel>](https://example.com/)', '<https://example.com/|see @channel>'],
    ['&lt;!channel&gt; and \\<!here>', '&lt;!channel&gt; and &lt;!here&gt;'],
  ])('is readable text: %s', async (body, expected) => {
    expect(await text(body)).toBe(expected);
    expect(await text(body)).not.toMatch(/<[@!]/);
  });

  it('has a character without width behind its @, so that no parsing mode of Slack finds a name', async () => {
    expect((await slackMessage({ ...content, body: '<!channel> <@U1>' })).text).toBe('@\u200bchannel @\u200bU1');
  });

  it('is not a date, a channel or an address, which notify nobody and stay', async () => {
    const body = '<!date^1392734382^{date}|18 Feb> <#C024BE7LR|general> <mailto:a@example.com|mail>';
    expect(await text(body)).toBe(body);
  });

  it('stays as it is if the integration allows it', async () => {
    expect(await text('<!channel> `<@U1>`', { mentions: true })).toBe('<!channel> `&lt;@U1&gt;`');
  });

  it.each(['PLAIN', 'HTML'] as const)('is text in %s, whatever the integration allows', async (format) => {
    const body = format === 'HTML' ? '&lt;!channel&gt;' : '<!channel>';
    expect((await slackMessage({ ...content, body, format }, { mentions: true })).text).toBe('&lt;!channel&gt;');
  });
});
