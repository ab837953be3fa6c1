import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { render, renderChecked } from '../../../src/adapters/post/post-renderer.ts';
import type { EmailContent } from '../../../src/core/newsletter/model/email.ts';
import { mergeFieldRefusal } from '../../../src/core/newsletter/model/merge-fields.ts';
import { MEMBER, POST_CASES, REFUSED_POSTS } from '../../corpus/merge-fields/posts.ts';
import { arriving } from '../../support/newsletter/arriving.ts';

const newsletter = {
  tenant_id: 't',
  newsletter_id: 'w',
  name: 'W',
  from: 'w@w.example',
  created_at: '',
  updated_at: '',
};

describe('the fields of a post', () => {
  it.each(POST_CASES.map((one) => [one.why, one.body, one] as const))('%s: %s', async (_, __, one) => {
    const content: EmailContent = {
      subject: one.subject ?? 'News',
      body: one.body,
      format: one.format,
      newsletter: { ...newsletter, name: one.newsletter ?? 'Weekly' },
    };
    await expect(renderChecked(content, 0)).resolves.toBeDefined();
    const { subject, html, text } = await arriving(content);
    const [own = ''] = text.split('\n\n-- \nYou get this because you subscribe to ');
    expect(one.subject === undefined ? own : `${subject}\n${own}`).toBe(one.text);
    const plain = html.replaceAll('<br>', '\n').replaceAll(/ style="[^"]*"| ses:no-track/g, '');
    for (const part of one.html) expect(plain).toContain(part);
    // Whatever the post says, there is a way out that leads somewhere.
    expect(html).toContain(`${MEMBER.unsubscribe_url}`);
    expect(text).toContain(`${MEMBER.unsubscribe_url}`);
  });

  it('are values in a whole newsletter, which docs/images shows', async () => {
    const [body = '', read = ''] = ['md', 'txt'].map((form) =>
      readFileSync(new URL(`../../corpus/bodies/newsletter.${form}`, import.meta.url), 'utf8'),
    );
    const content: EmailContent = { subject: 'News', body, format: 'markdown', newsletter };
    await expect(renderChecked(content, 0)).resolves.toBeDefined();
    const [text = ''] = (await arriving(content)).text.split('\n\n-- \n');
    expect(`${text}\n`).toBe(read);
  });

  it.each(REFUSED_POSTS)(
    'are refused where they would not arrive as values (%s): %s',
    async (format, body, sentence) => {
      const content: EmailContent = { subject: 'News', body, format, newsletter };
      const why = mergeFieldRefusal(content)?.message ?? renderChecked(content, 0).then(() => 'sent', String);
      expect(await why).toContain(sentence);
      // One that was stored before is sent all the same.
      expect((await render(content, 0)).text.length).toBeGreaterThan(0);
    },
  );
});
