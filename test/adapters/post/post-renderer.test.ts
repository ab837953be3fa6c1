import { describe, expect, it } from 'vitest';
import {
  createPartSegments,
  createRenderings,
  PostError,
  render as renderPost,
} from '../../../src/adapters/post/post-renderer.ts';
import type { EmailContent } from '../../../src/core/newsletter/model/email.ts';
import type { Pieces } from '../../../src/core/newsletter/model/merge-fields.ts';
import { emailRow } from '../../support/newsletter/job-rows.ts';

const AT = '2026-01-01T00:00:00.000Z';
const newsletter = {
  tenant_id: 't',
  newsletter_id: 'weekly',
  name: 'Weekly & more',
  from: 'news@news.example',
  created_at: AT,
  updated_at: AT,
};
const post = (body: string, format: EmailContent['format'] = 'markdown', subject = 'News'): EmailContent => ({
  subject,
  body,
  format,
  newsletter,
});

const written = (pieces: Pieces): string =>
  pieces
    .map((piece) => {
      if (typeof piece === 'string') return piece;
      return piece.fallback === undefined ? `{${piece.field}}` : `{${piece.field}, "${piece.fallback}"}`;
    })
    .join('');

/** Without what the template puts into every element. */
const bare = (html: string): string => html.replaceAll(/ style="[^"]*"/g, '');
const WAY_OUT = '<a ses:no-track href="{unsubscribe_url}">Unsubscribe</a>';
const FOOTER = '<table role="presentation" class="nr-footer"';

/** A rendering with its fields as a post names them. */
async function render(content: EmailContent, shown: number) {
  const { subject, html, text } = await renderPost(content, shown);
  return { subject: written(subject), html: bare(written(html)), text: written(text) };
}

describe('a post', () => {
  it('in Markdown becomes HTML and a plain text, each with a link to unsubscribe', async () => {
    const { html, text, subject } = await render(post('# Hi {name, "you"}\n\nRead [this](https://a.example)'), 0);
    expect(subject).toBe('News');
    expect(html).toContain('<h1>Hi {name, "you"}</h1>');
    expect(html).toContain(WAY_OUT);
    expect(html).toContain('you subscribe to Weekly &amp; more.');
    expect(text).toContain('Hi {name, "you"}');
    expect(text).toContain('{unsubscribe_url}');
  });

  it('keeps merge fields in links and attributes', async () => {
    const { html } = await render(post('[Leave]({unsubscribe_url}) and <a title=\'{name, "x"}\'>b</a>'), 0);
    expect(html).toContain('<a ses:no-track href="{unsubscribe_url}">Leave</a>');
    expect(html).toContain('title=\'{name, "x"}\'');
  });

  it('in plain text is shown as it was written', async () => {
    const { html, text } = await render(post('a < b & {name}\n{unsubscribe_url}', 'text'), 0);
    expect(text).toMatch(/^a < b & \{name\}\n\{unsubscribe_url\}\n\n-- \nYou get this/);
    expect(html).toContain('a &lt; b &amp; {name}<br><a ses:no-track href="{unsubscribe_url}">{unsubscribe_url}</a>');
  });

  it('keeps the document of an HTML post, and puts the link before the end of its body', async () => {
    const { html } = await render(post('<html><body><p>x</p></body></html>', 'html'), 0);
    expect(html.startsWith(`<html><body><p>x</p>${FOOTER}`)).toBe(true);
    expect(html).toMatch(/<\/table><\/body><\/html>$/);
  });

  it.each([
    [
      'only a part that the member does not get',
      '<p>x</p><div data-gh-segment="status:paid"><a href="{unsubscribe_url}">leave</a></div>',
    ],
    ['a comment', '<p>x</p><!-- {unsubscribe_url} -->'],
    [
      'a style, a script and the head',
      '<html><head><title>{unsubscribe_url}</title><style>/* {unsubscribe_url} */</style></head><body>x<script>"{unsubscribe_url}"</script></body></html>',
    ],
    [
      'a part that is hidden',
      '<p hidden>{unsubscribe_url}</p><p style="display: none"><a href="{unsubscribe_url}">x</a></p>x',
    ],
  ])('gets a link of its own where %s names one', async (_, html) => {
    const rendered = await render(post(html, 'html'), 0);
    expect(rendered.html).toContain(WAY_OUT);
    expect(rendered.text).toContain('{unsubscribe_url}');
  });

  it.each([
    [
      'a comment behind the body',
      '<html><body><p>x</p></body></html><!-- </body> -->',
      /<p>x<\/p><table.*<\/table><\/body><\/html><!--/,
    ],
    [
      'a script',
      '<html><body><p>x</p></body><script>"</body>"</script></html>',
      /<p>x<\/p><table.*<\/table><\/body><script>/,
    ],
    ['a comment without an end', '<html><body><p>x</p></body><!-- </body>', /<p>x<\/p><table.*<\/table><\/body><!--/],
    ['nothing', '<p>x</p><!-- <b>', /<body><table.*<p>x<\/p>/],
    [
      'a part that is hidden to the end',
      '<html><body class="a"><p>x</p><div hidden></body></html>',
      /<body class="a"><table.*<p>x<\/p><div hidden>/,
    ],
  ])('has its link where a reader sees it, although %s ends the body', async (_, html, expected) => {
    expect((await render(post(html, 'html'), 0)).html).toMatch(expected);
  });

  it('has its footer also where its author wrote a link, of which SES makes none of its own', async () => {
    const own =
      '<A class="x" href="{unsubscribe_url}?from=top">leave</A><a ses:no-track href="{unsubscribe_url}">go</a>';
    const { html, text } = await render(post(`<p>x</p>${own}<a href="https://a.example">a</a>`, 'html'), 0);
    expect(html).toContain(WAY_OUT);
    expect(html).toContain('<A ses:no-track class="x" href="{unsubscribe_url}?from=top">');
    expect(html).toContain('<a ses:no-track href="{unsubscribe_url}">go</a><a href="https://a.example">');
    expect(text).toMatch(/Unsubscribe: \{unsubscribe_url\}\n/);
  });

  it('makes one line of the subject', async () => {
    expect((await render(post('x', 'text', 'a\r\nBcc: b'), 0)).subject).toBe('a Bcc: b');
  });
});

describe('parts of a post for some members', () => {
  const body =
    '<p>all</p><div data-gh-segment="status:free"><div>free</div></div><div class="x">y</div>' +
    '<div data-gh-segment="status:-free">paying</div>';

  it('are shown by the bits of the rendering', async () => {
    const shown = async (bits: number) => (await render(post(body, 'html'), bits)).text;
    expect(await shown(0b00)).not.toMatch(/free|paying/);
    expect(await shown(0b01)).toMatch(/all\s+free\s+y/);
    expect(await shown(0b10)).toMatch(/all\s+y\s+paying/);
    expect(await shown(0b11)).toMatch(/free\s+y\s+paying/);
  });

  it('are rendered once per email and combination, and again after a failure', async () => {
    const renderings = createRenderings();
    const of = (email_id: string, rendering: number, content = post(body, 'html')) =>
      renderings.of(emailRow({ email_id }), content, { rendering });
    const first = await of('e-1', 0b01);
    expect(await of('e-1', 0b01)).toBe(first);
    expect(await of('e-1', 0b10)).not.toBe(first);
    expect(await of('e-2', 0b01)).not.toBe(first);
    const many = post('<div data-gh-segment="status:free">x</div>'.repeat(31), 'html');
    await expect(of('e-3', 0, many)).rejects.toThrow(PostError);
    expect(written((await of('e-3', 0)).text)).toContain('all');
  });

  it('are rendered anew for a dry run of the same id, whose post or newsletter is another', async () => {
    const renderings = createRenderings();
    const of = (created_at: string, text: string) =>
      renderings.of(emailRow({ email_id: 'e-1', created_at }), post(text, 'text'), { rendering: 0 });
    await of('2026-03-01T11:00:00.000Z', 'long');
    expect(written((await of('2026-03-01T11:00:01.000Z', 'short')).text)).toContain('short');
  });

  it('count relative times of a scheduled post from when it goes', async () => {
    const html = '<p>all</p><div data-gh-segment="created_at:>now-30d">new</div>';
    const isShown = async (times: object) => {
      const email = { created_at: AT, ...times } as Parameters<ReturnType<typeof createPartSegments>['of']>[0];
      const [part] = await createPartSegments().of(email, post(html, 'html'));
      return part?.matches({ status: 'free', labels: [], newsletters: [], created_at: AT } as never);
    };
    expect([await isShown({}), await isShown({ scheduled_at: '2030-01-01T00:00:00.000Z' })]).toEqual([true, false]);
  });

  it('name their segment, in the order of the post', async () => {
    const email = { created_at: AT } as Parameters<ReturnType<typeof createPartSegments>['of']>[0];
    const parts = await createPartSegments().of(email, post(body, 'html'));
    const member = {
      member_id: 'm',
      status: 'paid',
      labels: [],
      newsletters: [],
      created_at: AT,
    } as unknown as Parameters<(typeof parts)[number]['matches']>[0];
    expect(parts.map(({ segment, matches }) => [segment, matches(member)])).toEqual([
      ['status:free', false],
      ['status:-free', true],
    ]);
  });

  it.each([
    ['a paragraph', '<p>a</p><p data-gh-segment="status:paid">secret</p><p>b</p>'],
    ['a paragraph without an end', '<p>a<p data-gh-segment="status:paid">secret<p>b'],
    [
      'a section with a paragraph without an end',
      '<p>a</p><section data-gh-segment="status:paid"><p>secret</section><p>b</p>',
    ],
    ['a list item', '<ul><li>a<li data-gh-segment="status:paid">secret<li>b</ul>'],
    ['an image', '<p>a</p><img data-gh-segment="status:paid" alt="secret"><p>b</p>'],
    [
      'a row',
      '<table><tr><td>a</td></tr><tr data-gh-segment="status:paid"><td>secret</td></tr><tr><td>b</td></tr></table>',
    ],
    ['the last element', 'a<p>b</p><span data-gh-segment="status:paid">secret'],
  ])('are %s, too', async (_, html) => {
    const hidden = await render(post(html, 'html'), 0);
    expect(hidden.html).not.toContain('secret');
    expect(hidden.text).toMatch(/a.*b/s);
    const shown = await render(post(html, 'html'), 1);
    expect(shown.html).toContain('secret');
  });

  it('hide what is inside them', async () => {
    const nested = '<div data-gh-segment="status:free">a<div data-gh-segment="status:paid">b</div></div><p>c</p>';
    expect((await render(post(nested, 'html'), 0b10)).html).not.toMatch(/>a|>b/);
    expect((await render(post(nested, 'html'), 0b01)).text).toMatch(/a\s+c/);
  });

  it('are refused when there are more than 30', async () => {
    const many = '<div data-gh-segment="status:free">x</div>'.repeat(31);
    await expect(render(post(many, 'html'), 0)).rejects.toThrow(PostError);
  });
});
