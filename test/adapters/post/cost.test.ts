import { expect, it } from 'vitest';
import { PostError, renderChecked } from '../../../src/adapters/post/post-renderer.ts';
import type { EmailContent } from '../../../src/core/newsletter/model/email.ts';
import { mergeFieldRefusal } from '../../../src/core/newsletter/model/merge-fields.ts';
import { ALL_PARTS } from '../../../src/core/newsletter/sending/test-mail.ts';

const newsletter = {
  tenant_id: 't',
  newsletter_id: 'w',
  name: 'W',
  from: 'w@w.example',
  created_at: '',
  updated_at: '',
};
const LENGTH = 256 * 1024;
/** The budget is 0.5 s on the reference machine; this one may have other work, and what took too long took 3 to 10 s. */
const CPU_MS = 1_800;

/** Constructs that took a parser the square of their number, or its stack; what comes before and behind them. */
const CONSTRUCTS: readonly (readonly [
  format: EmailContent['format'],
  unit: string,
  before?: string,
  behind?: string,
])[] = [
  ['html', '<b>', '', '</i>'.repeat(32_000)],
  ['html', '</i>', '<b>'.repeat(499)],
  ['html', '</body>'],
  ['html', '<body>'],
  ['html', '<li><td>'],
  ['html', '<td>'],
  ['html', '<!--'],
  ['html', '<!-- </body> -->'],
  ['html', 'a<br>', '<ul><li>'.repeat(240)],
  ['html', 'a b ', '<table><tr><td>'.repeat(160)],
  ['html', 'a<p>', '<a href="https://x.example">'.repeat(490)],
  ['html', '{'],
  ['html', '{ name '],
  ['html', '<a href="https://x.example/?a={name}'],
  ['html', 'href=  '],
  ['html', 'href="'],
  ['html', "href='a"],
  ['html', '%7Bname,'],
  ['html', '%7B'],
  ['html', '{name,\n"'],
  ['html', '<sup>1</sup><del>2</del>'],
  ['html', '\n', '<pre>', 'x'],
  ['text', '{'],
  ['text', 'https://('],
  ['markdown', '!'],
  ['markdown', '\\'],
  ['markdown', '- a\n'],
  ['markdown', 'a\n\n'],
  ['markdown', '| a |\n|-|\n| b |\n'],
  ['markdown', '['],
  ['markdown', '<'],
  ['markdown', '](<'],
  ['markdown', '<https://a|'],
];

it.each(CONSTRUCTS.map(([format, unit, before = '', behind = '']) => [format, unit, before, behind] as const))(
  'a post (%s) of 256 KB of %j is rendered, or refused, at once',
  async (format, unit, before, behind) => {
    const room = LENGTH - before.length - behind.length;
    const body = before + unit.repeat(Math.ceil(room / unit.length)).slice(0, room) + behind;
    const begun = process.threadCpuUsage();
    const content = { subject: 'News', body, format, newsletter };
    mergeFieldRefusal(content);
    const rendered = await renderChecked(content, ALL_PARTS).catch((error) => error);
    const { user, system } = process.threadCpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(CPU_MS);
    if (rendered instanceof Error) expect(rendered).toBeInstanceOf(PostError);
  },
);
