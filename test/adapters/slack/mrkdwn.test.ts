import { describe, expect, it } from 'vitest';
import { slackMessage } from '../../../src/adapters/slack/message.ts';
import { markdownToMrkdwn } from '../../../src/adapters/slack/mrkdwn.ts';

/** his-notification-log-table.md, sample NL002. */
const SAMPLE =
  ':warning: *目標期限のお知らせ* :warning:\n\n山田太郎さんの目標「Java認定資格取得」の期限が近づいています。\n\n• 期限: 2025-06-30\n• 残り日数: 29日\n• 進捗率: 75%\n\n<https://system.company.com/goals/456|詳細を確認する>';

/** The converter sets zero-width spaces around emphasis, so that Slack sees it within words. */
const visible = (text: string) => text.replaceAll('\u200b', '');

describe('Markdown for Slack', () => {
  it("keeps the table document's sample, which is mrkdwn already, unchanged", async () => {
    expect(await markdownToMrkdwn(SAMPLE)).toBe(SAMPLE);
  });

  it.each([
    ['bold', '**now**', '*now*'],
    ['italics with underscores', '_now_', '_now_'],
    ['struck text', '~~now~~', '~now~'],
    ['a heading', '# Now\n\ntext', '*Now*\n\ntext'],
    ['a link', '[here](https://example.com/?a=1&b=2)', '<https://example.com/?a=1&b=2|here>'],
    ['a list', '* one\n* two', '•   one\n•   two'],
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
    ['code', '`*not bold* <https://a.b|c>`'],
    ['a code block', '```\n*not bold* \\\n<https://a.b|c>\n```'],
    ['an emoji', ':white_check_mark: done'],
  ])('keeps %s of mrkdwn', async (_, text) => {
    expect(visible(await markdownToMrkdwn(text))).toBe(text);
  });

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
      text: 'Hello you &amp; all\n\nmore [https://example.com]',
      mrkdwn: false,
    });
  });

  it('in Markdown has the subject in bold as its first line', async () => {
    const message = await slackMessage({ ...content, body: 'text', subject: 'a*b & c', format: 'MARKDOWN' });
    expect(message).toEqual({ text: '*ab &amp; c*\ntext', mrkdwn: true });
  });
});
