import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linkedText } from '../../../src/adapters/content/addresses.ts';
import { contrast, readableOn, textOn } from '../../../src/adapters/post/mail-template.ts';
import { parsePost } from '../../../src/cli/commands/emails/post.ts';
import type { EmailContent, Newsletter } from '../../../src/core/newsletter/model/email.ts';
import { MEMBER } from '../../corpus/merge-fields/posts.ts';
import { arriving } from '../../support/newsletter/arriving.ts';
import { emailContent } from '../../support/newsletter/job-rows.ts';

const LAWFUL = { sender_name: 'K & Co', postal_address: '1-1 Chiyoda, Tokyo', contact: 'ask@k.example, +81 3 1234' };

const post = (
  body: string,
  format: EmailContent['format'],
  newsletter: Partial<Newsletter> = LAWFUL,
  more: Partial<EmailContent> = {},
) => arriving(emailContent({ ...more, body, format, newsletter: { ...emailContent().newsletter, ...newsletter } }));

describe('the footer', () => {
  it.each(['markdown', 'text', 'html'] as const)(
    'of a post in %s says who sent it, why, and the ways out',
    async (format) => {
      const { html, text } = await post('x', format);
      const lines = [
        ...['-- ', 'K & Co', '1-1 Chiyoda, Tokyo', 'Contact: ask@k.example, +81 3 1234'],
        'You get this because you subscribe to News.',
        `Unsubscribe: ${MEMBER.unsubscribe_url}`,
        `View in your browser: ${MEMBER.unsubscribe_url}/mail`,
      ];
      expect(text).toBe(`x\n\n${lines.join('\n')}\n`);
      expect(html).toContain('<strong>K &amp; Co</strong><br>1-1 Chiyoda, Tokyo</p>');
      expect(html).toContain('<a href="mailto:ask@k.example"');
      expect(html).toContain(`<a ses:no-track href="${MEMBER.unsubscribe_url}/mail"`);
    },
  );

  it('is in the language of the newsletter, as the page is', async () => {
    const { html, text } = await post('x', 'text', { name: '週報', language: 'ja' });
    expect(html).toContain('<html lang="ja">');
    expect(html).toContain('このメールは「週報」を購読されている方にお送りしています。');
    expect(text).toContain(`\n配信を停止する: ${MEMBER.unsubscribe_url}\n`);
  });

  it('follows the signature that an author wrote, with no second line of dashes (RFC 3676, 4.3)', async () => {
    expect((await post('Bye\n\n-- \nMika', 'text')).text).toMatch(/^Bye\n\n-- \nMika\n\nK & Co\n/);
    expect((await post('Bye\n--\nMika', 'text')).text).toMatch(/^Bye\n--\nMika\n\n-- \nK & Co\n/);
  });

  it('is dark where the post is, and keeps its own light colors elsewhere', async () => {
    const head = (style: string) => `<html><head><style>${style}</style></head><body>x</body></html>`;
    const dark = await post(head('@media (prefers-color-scheme:dark){td{color:#fff!important}}'), 'html');
    expect(dark.html).toMatch(
      /<\/style><style>@media \(prefers-color-scheme:dark\)\{table\.nr-footer.*<\/style><\/head>/,
    );
    expect((await post(head('td{color:#fff}'), 'html')).html).not.toContain('prefers-color-scheme');
  });
});

describe('the template of Markdown and text', () => {
  it('gives each element its style, behind which its own counts', async () => {
    const body =
      '| a | b |\n|---|--:|\n| 1 | 2 |\n\n```\n`x`\n```\n\n<p style="color:red" class="y">z</p><P STYLE=\'margin:0\'>v</P>';
    const { html } = await post(body, 'markdown');
    expect(html).toMatch(
      /<th scope="col" style="padding[^"]*;text-align:left">a<\/th>\s*<th [^>]*;text-align:right">b/,
    );
    expect(html).toMatch(/<td style="padding[^"]*">1<\/td>\s*<td style="padding[^"]*;text-align:right">2/);
    expect(html).toMatch(
      /<pre style="[^"]*white-space:pre-wrap[^"]*"><code style="font-family:[^"]*font-size:14px">`x`/,
    );
    expect(html).toMatch(/<p style="margin:0 0 16px;color:red" class="y">z<\/p><P STYLE='margin:0 0 16px;margin:0'>v/);
  });

  it('makes a button of a bold link that stands alone', async () => {
    const { html, text } = await post(
      '**[Read & go](https://a.example/?a=1&b=2)**\n\nSee **[it](https://b.example)**.',
      'markdown',
      {
        accent_color: '#ffee00',
      },
    );
    expect(html).toMatch(
      /background-color:#ffee00[^>]*><a href="https:\/\/a\.example\/\?a=1&amp;b=2" style="[^"]*color:#000000/,
    );
    expect(html.match(/class="nr-button"/g)).toHaveLength(1);
    expect(text).toMatch(/^Read & go https:\/\/a\.example\/\?a=1&b=2\n\nSee it https:\/\/b\.example/);
  });

  it('shows the logo, or the name, and before it what lists of mails show', async () => {
    const logo = await post('Hello {name}', 'markdown', { logo_url: 'https://k.example/logo.png?a=1&b' });
    expect(logo.html).toMatch(/<img src="https:\/\/k\.example\/logo\.png\?a=1&amp;b" alt="News"/);
    expect(logo.html).toMatch(/<body[^>]*><div style="display:none[^"]*">Hello Ann &amp; Bo\u034f/);
    const { html } = await post('Hello', 'html', {}, { preheader: '<3 {first_name}' });
    expect(html).toMatch(/<body><div style="display:none[^"]*">&lt;3 Ann\u034f/);
    expect((await post('Hello', 'html')).html).not.toContain('display:none');
  });

  it('uses no color on which it cannot be read (WCAG 1.4.3)', () => {
    const color = fc.integer({ min: 0, max: 0xffffff }).map((n) => `#${n.toString(16).padStart(6, '0')}`);
    fc.assert(
      fc.property(color, (accent) => {
        for (const ground of ['#f3f4f6', '#2b303a']) {
          expect(contrast(readableOn(ground, accent), ground)).toBeGreaterThanOrEqual(4.5);
        }
        expect(contrast(textOn(accent), accent)).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });
});

describe('an address in plain text', () => {
  it.each([
    ['See https://a.example/x?y=1&z=(2).', 'https://a.example/x?y=1&amp;z=(2)', '.'],
    ['(https://a.example/b)', 'https://a.example/b', ')'],
    ['詳しくはhttps://a.example/bをご覧', 'https://a.example/b', 'をご覧'],
    ['ask me@a.example!', 'mailto:me@a.example', '!'],
  ])('is a link: %s', (text, href, behind) => {
    expect(linkedText(text)).toContain(`<a href="${href}">${href.replace('mailto:', '')}</a>${behind}`);
  });

  it.each(['xhttps:/a', 'address:mergefield1z', 'a@b', '<b>'])('is none: %s', (text) => {
    expect(linkedText(text)).not.toContain('<a');
  });
});

describe('each post of the examples', () => {
  it.each(['digest.md', 'designed.html', 'plain.txt'])('%s arrives with its footer within 20 KB', async (file) => {
    const format = ({ md: 'markdown', html: 'html', txt: 'text' } as const)[file.split('.')[1] as 'md'];
    const source = readFileSync(new URL(`../../../examples/newsletters/${file}`, import.meta.url), 'utf8');
    const { html } = await arriving({ ...emailContent(), ...parsePost(source, format, file) });
    expect(html).toContain('class="nr-footer"');
    expect(Buffer.byteLength(html)).toBeLessThan(20_000);
  });
});
