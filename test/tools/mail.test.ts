import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Parser } from 'htmlparser2';
import { describe, expect, it } from 'vitest';
import { escapeHtml } from '../../src/adapters/content/escape-html.ts';
import { fromHeader, mailbox } from '../../src/adapters/email/address.ts';
import { bodyOf } from '../../src/adapters/email/sender.ts';
import type { MessageFormat } from '../../src/core/model/notification.ts';
import type { EmailContent } from '../../src/core/newsletter/model/email.ts';
import { receivedMail } from '../../src/local/providers/ses/received-mail.ts';
import { SENDERS } from '../corpus/addresses/cases.ts';
import { HTML_CASES } from '../corpus/bodies/html.ts';
import { MARKDOWN_CASES } from '../corpus/bodies/markdown.ts';
import { MEMBER, POST_CASES } from '../corpus/merge-fields/posts.ts';
import { arriving } from '../support/newsletter/arriving.ts';
import { emailContent } from '../support/newsletter/job-rows.ts';
import { askPython, PYTHON } from '../support/tools/second-opinion.ts';
import { hasTool, NODE_TOOLS } from '../support/tools/tools.ts';

interface Parts {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

interface ReadMail {
  readonly from: readonly (readonly [name: string, address: string])[];
  readonly to: readonly (readonly [name: string, address: string])[];
  readonly subject: string;
  readonly unsubscribe: string | null;
  readonly one_click: string | null;
  readonly longest_line: number;
  readonly parts: readonly { readonly type: string; readonly charset: string; readonly content: string }[];
}

const post = (changes: Partial<EmailContent>) => arriving(emailContent(changes));

async function notification(format: MessageFormat, body: string): Promise<Parts> {
  const { Html, Text } = await bodyOf({ recipient: 'ann@example.com', body, format });
  return { subject: '障害: web-1 is down', html: Html?.Data ?? '', text: Text?.Data ?? '' };
}

const UNSUBSCRIBE = {
  'List-Unsubscribe': `<${MEMBER.unsubscribe_url}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
};
const UNTRACKED = { opens: false, clicks: false };

const mails = async (): Promise<readonly Parts[]> => [
  ...(await Promise.all(
    POST_CASES.map((one) =>
      post({ subject: one.subject ?? 'こんにちは {first_name}', body: one.body, format: one.format }),
    ),
  )),
  await post({ subject: `${'とても長い件名'.repeat(12)}: {name}`, body: 'Hello', format: 'text' }),
  ...(await Promise.all(HTML_CASES.map(({ html }) => notification('HTML', html)))),
  ...(await Promise.all(MARKDOWN_CASES.map(({ markdown }) => notification('MARKDOWN', markdown)))),
];

describe.skipIf(!hasTool('Python', PYTHON))('Python’s email package', { timeout: 60_000 }, () => {
  it('takes each mail apart as it was meant: headers, both parts, nothing attached, no defect', async () => {
    const sent = await mails();
    const sources = sent.map((parts, i) => {
      const { written } = SENDERS[i % SENDERS.length] ?? { written: '' };
      const headers = parts.html.includes(MEMBER.unsubscribe_url) ? UNSUBSCRIBE : {};
      const receipt = { ...{ from: fromHeader(written) ?? '', to: 'ann+news@example.com' }, headers };
      const ids = { message_id: `0107-${i}`, at: '2026-01-31T09:00:00.000Z', configuration_set: '', tags: {} };
      return receivedMail({ ...receipt, ...ids, subject: parts.subject }, parts, UNTRACKED);
    });
    const lines = (text: string) => text.replaceAll('\r\n', '\n');
    for (const [i, read] of askPython<'mails', ReadMail>('mails', sources).entries()) {
      const { subject, html, text } = sent[i] ?? { subject: '', html: '', text: '' };
      const sender = SENDERS[i % SENDERS.length];
      const isPost = html.includes(MEMBER.unsubscribe_url);
      expect(read).toMatchObject({
        type: 'multipart/alternative',
        from: [[expect.any(String), sender?.address]],
        to: [['', mailbox('ann+news@example.com')]],
        subject,
        unsubscribe: isPost ? `<${MEMBER.unsubscribe_url}>` : null,
        one_click: isPost ? 'List-Unsubscribe=One-Click' : null,
        attachments: 0,
        defects: [],
      });
      expect(read.longest_line).toBeLessThanOrEqual(998);
      expect(read.parts.map(({ type, charset }) => `${type} ${charset}`)).toEqual([
        'text/plain utf-8',
        'text/html utf-8',
      ]);
      // SES takes away what is for its tracking alone.
      const sentHtml = lines(html.replaceAll(' ses:no-track', ''));
      expect(read.parts.map(({ content }) => lines(content))).toEqual([lines(text), sentHtml]);
    }
  });
});

const URLS = [
  'https://example.com',
  'https://example.com/',
  'https://example.com/a/b.html',
  'https://example.com/?q=1&r=2#top',
  'https://example.com:8443/a;b,c',
  'https://user@example.com/a',
  'https://sub.example.co.uk/wiki/Foo_(bar)',
  'https://example.com/a_(b)_c',
  'https://example.com/end.',
  'https://example.com/end)',
  'https://example.com/end]',
  'https://example.com/end,',
  'https://example.com/end!',
  'https://example.com/a b',
  'https://example.com/日本語?名=値',
  'https://example.com/%E6%97%A5',
  'https://example.com/a"b<c>',
  'https://example.com/a|b\\c^d`e{f}',
  "https://example.com/it's",
  'https://example.com/*a*_b_~c~',
  'http://example.com/plain?u=https://example.org/x',
];
/** What stands around a link. */
const AROUND: readonly ((link: string) => string)[] = [
  (link) => `Read ${link}.`,
  (link) => `(${link})`,
  (link) => `[${link}]`,
  (link) => `"${link}", he said`,
  (link) => `詳しくは${link}をご覧ください。`,
  (link) => `「${link}」`,
  (link) => `<p dir="rtl">קרא ${link}, עכשיו</p>`,
  (link) => `<table><tr><td>${link}</td><td>next</td></tr></table>`,
  (link) => `<ul><li>${link}<li>${link}</ul>`,
  (link) => `<b>${link}</b>!`,
  (link) => `${link}<br>after`,
  (link) => `x${link}y`,
];

/** The web's addresses that links of the HTML lead to. */
function linksOf(html: string): readonly string[] {
  const found: string[] = [];
  const parser = new Parser({ onopentag: (name, { href = '' }) => void (name === 'a' && found.push(href)) });
  parser.end(html);
  return found.filter((href) => /^https?:/.test(href));
}

/** Two spellings of an address, of which signs are percent-encoded in one. */
function same(url: string): string {
  const text = url.replace(/^(https?:\/\/[^/?#]+)\/?$/, '$1').replace(/\?$/, '');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a linkifier reads as an address otherwise, wherever it stands. */
const RECORDED = [{ by: 'linkify-it', address: 'https://user@example.com/a', why: 'it takes no name before a host' }];

interface LinkifyIt {
  set(options: object): { match(text: string): readonly { readonly url: string }[] | null };
}

describe.skipIf(!hasTool('linkifyjs', join(NODE_TOOLS, 'linkifyjs')))('linkifiers', { timeout: 60_000 }, () => {
  it('find in the text part exactly the links of the HTML, whole and without what is around them', async () => {
    const load = createRequire(join(NODE_TOOLS, 'linkifyjs', 'package.json'));
    const { find }: { find(text: string, type: string): readonly { readonly href: string }[] } = load('linkifyjs');
    const { linkifyit }: { readonly linkifyit: () => LinkifyIt } = load('linkify-it');
    const linkify = linkifyit().set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
    const bodies = URLS.flatMap((url) => AROUND.map((around) => around(`<a href="${escapeHtml(url)}">the page</a>`)));
    const texts = await Promise.all(bodies.map(async (html) => (await notification('HTML', html)).text));
    const markdown = await Promise.all(
      URLS.map(async (url) =>
        notification('MARKDOWN', `See [this](<${url.replaceAll(/[<>]/g, encodeURIComponent)}>).`),
      ),
    );
    const all = [...bodies.map((html, i) => ({ html, text: texts[i] ?? '' })), ...markdown];
    const byBleach = askPython<'texts', readonly string[]>(
      'texts',
      all.map(({ text }) => text),
    );
    const wrong: object[] = [];
    let links = 0;
    for (const [i, { html, text }] of all.entries()) {
      const meant = linksOf(html).map(same);
      const found = {
        linkifyjs: find(text, 'url').map(({ href }) => same(href)),
        'linkify-it': (linkify.match(text) ?? []).map(({ url }) => same(url)),
        bleach: (byBleach[i] ?? []).map(same),
      };
      for (const [by, ours] of Object.entries(found)) {
        if (RECORDED.some((one) => one.by === by && meant.includes(one.address))) continue;
        links += ours.length;
        if (ours.join() !== meant.join()) wrong.push({ by, text, ours, meant });
      }
    }
    expect(wrong).toEqual([]);
    expect(links).toBeGreaterThan(800);
  });
});
