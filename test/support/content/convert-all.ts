import { bodyOf } from '../../../src/adapters/email/sender.ts';
import { MAX_MARKDOWN_CHARACTERS, slackMessage } from '../../../src/adapters/slack/message.ts';
import type { NotificationContent } from '../../../src/core/model/notification.ts';

/** Constructs that give a parser the most work for their length; any of them passes the limits of nesting. */
const CONSTRUCTS = [
  '- a\n',
  '1. a\n',
  '- [ ] a\n',
  '- a\n  - b\n    - c\n',
  '> a\n\n',
  'a\n\n',
  '# a\n',
  '---\n',
  '[a]: b\n',
  '[a](/b)\n\n',
  '**a**\n\n',
  '- **one**: `two`\n',
  '`a` b\n\n',
  '<b>a</b>\n\n',
  'https://a.example\n\n',
  '|a|b|\n',
];

const content = (construct: string, length: number): NotificationContent => {
  const head = construct.startsWith('|') ? '|a|b|\n|-|-|\n' : '';
  const body = head + construct.repeat(Math.ceil(length / construct.length));
  return { recipient: 'x', format: 'MARKDOWN', body: body.slice(0, length) };
};

/** A worker converts ten at once. */
const BATCH = Number(process.env['MARKDOWN_BATCH'] ?? 10);

for (const construct of CONSTRUCTS) {
  const batch = Array.from({ length: BATCH }, () => slackMessage(content(construct, MAX_MARKDOWN_CHARACTERS)));
  const slack = await Promise.allSettled(batch);
  await bodyOf(content(construct, 256 * 1024)).catch(() => undefined);
  const slow = slack.filter(({ status }) => status === 'rejected').length;
  process.stdout.write(`${JSON.stringify({ construct, slow })}\n`);
}
