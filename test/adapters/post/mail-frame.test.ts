import { expect, it } from 'vitest';
import { inScheme } from '../../../console/screens/email/in-scheme.ts';
import { framedMail } from '../../../src/adapters/post/mail-frame.ts';

const inBody = (html: string) =>
  framedMail(`<html><body>${html}</body></html>`).html.slice(
    '<!doctype html><html><body>'.length,
    -'</body></html>'.length,
  );

it.each([
  ['a script', '<p onclick="x()">a<script>top.x=1</script></p>', '<p>a</p>'],
  [
    'what is loaded or sent',
    '<form action="/api"><input name="a"><iframe src="/"></iframe></form><table background="https://e.example/b.png"><tr><td>1</table>',
    '<form><input></form><table><tr><td>1</td></tr></table>',
  ],
  ['a link that runs', '<a href=" JavaScript:x()">a</a>', '<a>a</a>'],
  ['a text that looks like markup', '<p>1 &lt; 2 <b>&amp;lt;</p>', '<p>1 &lt; 2 <b>&amp;lt;</b></p>'],
  ['a comment', '<!--[if mso]><table><tr><td><![endif]-->a', 'a'],
])('%s does nothing in the frame', (_, html, shown) => {
  expect(inBody(html)).toBe(shown);
});

it('styles are apart, as the page’s policy takes none in the markup', () => {
  const { html, styles } = framedMail(
    '<head><meta name="color-scheme" content="light dark"><style>p{color:red}</style><style>@media print{a>b{}}</style></head><p style="color:#fff;a:\'&quot;\'">a</p>',
  );
  expect(styles).toEqual([':root{color-scheme:light dark}', 'p{color:red}', '@media print{a>b{}}']);
  expect(html).toBe('<!doctype html><head></head><p data-style="color:#fff;a:&#39;&quot;&#39;">a</p>');
});

it('a link opens apart from the page, and the mail’s page learns nothing of it', () => {
  expect(inBody('<a href="https://e.example/?a=1&amp;b=2" target="_top" style="color:red">a</a>')).toBe(
    '<a data-style="color:red" href="https://e.example/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">a</a>',
  );
});

it.each([
  ['<img src="https://e.example/a.png" alt="A chart" width="600" height="200">', '600 × 200 · A chart'],
  [
    '<img src="https://e.example/a.png" style="width:300px" width="600">',
    '300 × auto · picture without a text alternative',
  ],
  ['<img src="https://e.example/a.png" alt="">', 'size not given · picture without a text alternative'],
  ['<img src="/api/session" alt="<b>">', 'size not given · &lt;b&gt;'],
])('%s is a place with its size and its text alternative', (html, says) => {
  expect(inBody(html)).toMatch(
    new RegExp(
      `^<span class="nr-picture" data-style="[^"]*">${says.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}</span>$`,
    ),
  );
});

it('a pixel takes no place, and a picture that the mail brings along is shown', () => {
  expect(inBody('<img src="https://e.example/p" width="1" height="1">')).toBe('');
  expect(inBody('<img src="data:image/png;base64,AA==" alt="dot">')).toBe(
    '<img src="data:image/png;base64,AA==" alt="dot" data-style="">',
  );
});

it.each([
  [600, 'width:100%;max-width:600px'],
  [24, 'width:24px'],
])('a picture of %s pixels gives way in a narrow window, as pictures do', (width, style) => {
  expect(inBody(`<img src="https://e.example/a.png" width="${width}" alt="a">`)).toContain(`;${style}"`);
});

it('a frame has the scheme of its reader, however long a style is', () => {
  const style = ':root{color-scheme:light dark}p{color-scheme: light;color:red}';
  expect(inScheme(style, true)).toBe(':root{color-scheme:dark}p{color-scheme: light;color:red}');
  const began = performance.now();
  inScheme('color-scheme:'.repeat(20_000), true);
  expect(performance.now() - began).toBeLessThan(200);
});
