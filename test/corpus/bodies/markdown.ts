/** Markdown of notifications, and what it becomes in Slack, in the card of Teams, and in the text part of a mail. */
interface MarkdownCase {
  readonly markdown: string;
  readonly slack: string;
  readonly teams: string;
  readonly text: string;
  readonly why: string;
}

const DATA = `data:image/png;base64,${'iVBORw0KGgo'.repeat(3_000)}`;

export const MARKDOWN_CASES: readonly MarkdownCase[] = [
  {
    markdown: '- [ ] a\n- [x] b',
    slack: '•   ☐ a\n•   ☑ b',
    teams: '- ☐ a\n- ☑ b',
    text: '• ☐ a\n• ☑ b',
    why: 'tasks are done or not, in programs that leave out the inputs of forms, too',
  },
  {
    markdown: '- [ ] a\n\n- [x] b',
    slack: '•   ☐ a\n\n•   ☑ b',
    teams: '- ☐ a\n\n- ☑ b',
    text: '• ☐ a\n\n• ☑ b',
    why: 'tasks with space between them, each once',
  },
  {
    markdown: 'See <a href="https://x.example/a">this page</a>',
    slack: 'See &lt;a href="<https://x.example/a>"&gt;this page&lt;/a&gt;',
    teams: 'See <a href="[https://x.example/a](https://x.example/a)">this page</a>',
    text: 'See <a href="https://x.example/a">this page</a>',
    why: 'HTML is text, and an address in it ends with its attribute',
  },
  {
    markdown: 'Host: web-1\nState: **down**',
    slack: 'Host: web-1\nState: *down*',
    teams: 'Host: web-1\n\nState: **down**',
    text: 'Host: web-1 State: down',
    why: 'chat keeps line breaks; a single one is a blank in a card ("Format cards in Teams")',
  },
  {
    markdown: '| Host | Load |\n|-|-|\n| web-1 | 42 |',
    slack: '| Host | Load |\n| - | - |\n| web-1 | 42 |',
    teams: 'Host | Load\n\nweb-1 | 42',
    text: 'Host | Load\nweb-1 | 42',
    why: 'cells are apart, rows on lines',
  },
  {
    markdown: 'Use `map<string,string>` & `a && b` and `&lt;`',
    slack: 'Use `map&lt;string,string&gt;` &amp; `a &amp;&amp; b` and `&amp;lt;`',
    teams: 'Use map<string,string> & a && b and \\&lt;',
    text: 'Use map<string,string> & a && b and &lt;',
    why: "code is literal; Slack needs the three entities in code, too (Slack's formatting reference)",
  },
  {
    markdown: '~~~sh\ncd C:\\temp\\\necho "a  b"  \n~~~',
    slack: '```\ncd C:\\temp\\\necho "a  b"  \n```',
    teams: 'cd C:\\\\temp\\\\\n\necho "a\u00a0\u00a0b"\u00a0\u00a0',
    text: 'cd C:\\temp\\\necho "a  b"',
    why: 'backslashes and blanks at the end of lines of code (CommonMark, 4.5)',
  },
  {
    markdown: '    make \\\n      all\n\nend',
    slack: '```\nmake \\\n  all\n```\n\nend',
    teams: 'make \\\\\n\n\u00a0\u00a0all\n\nend',
    text: 'make \\\n  all\n\nend',
    why: 'indented code (CommonMark, 4.4)',
  },
  {
    markdown: '```\nls \\\n  -l *x* <https://a.example|b>',
    slack: '```\nls \\\n  -l *x* &lt;https://a.example|b&gt;\n```',
    teams: 'ls \\\\\n\n\u00a0\u00a0-l \\*x\\* <https://a.example|b>',
    text: 'ls \\\n  -l *x* <https://a.example|b>',
    why: 'a fence without an end (CommonMark, 4.5)',
  },
  {
    markdown: `![Chart of May](${DATA}) ![](cid:x) [![Logo](https://x.example/l.png)](https://x.example/)`,
    slack: 'Chart of May  <https://x.example/|Logo>',
    teams: 'Chart of May  [Logo](https://x.example/)',
    text: 'Chart of May Logo https://x.example/',
    why: 'images are their alternative text',
  },
  {
    markdown: '[a](https://x.example/b_(c)) [d](#e) [f](data:text/plain,x) <https://x.example/g>',
    slack: '<https://x.example/b_(c)|a> d f <https://x.example/g>',
    teams: '[a](https://x.example/b_%28c%29) d f [https://x.example/g](https://x.example/g)',
    text: 'a https://x.example/b_(c) d f https://x.example/g',
    why: 'links that lead somewhere, whole',
  },
  {
    markdown: '# Title *x*\n\n> q\n\n---\n\n- a\n- b\n  - c\n\n1. d',
    slack: '*Title *x**\n\n> q\n\n---\n\n•   a\n•   b\n    •   c\n\n1.  d',
    teams: '**Title *x***\n\nq\n\n\\---\n\n- a\n- b\n  - c\n\n1. d',
    text: 'Title x\n\n> q\n\n---\n\n• a\n• b\n  • c\n\n1. d',
    why: 'blocks',
  },
  {
    markdown: '&uuml; &#38;lt; &copy; <b>x</b> \\*y\\*',
    slack: 'ü &amp;lt; © &lt;b&gt;x&lt;/b&gt; *y*',
    teams: 'ü \\&lt; © <b>x</b> \\*y\\*',
    text: 'ü &lt; © <b>x</b> *y*',
    why: 'entities are read once; HTML is text',
  },
  {
    markdown: '{{DATE(2026-11-28T00:00:00Z, SHORT)}}',
    slack: '{{DATE(2026-11-28T00:00:00Z, SHORT)}}',
    teams: '{\u200b{DATE(2026-11-28T00:00:00Z, SHORT)}}',
    text: '{{DATE(2026-11-28T00:00:00Z, SHORT)}}',
    why: 'a card would fill it in (Adaptive Cards, text features)',
  },
  {
    markdown: 'こんにちは\n\nשלום **עולם**',
    slack: 'こんにちは\n\nשלום *עולם*',
    teams: 'こんにちは\n\nשלום **עולם**',
    text: 'こんにちは\n\nשלום עולם',
    why: 'other scripts',
  },
  {
    markdown: 'Price ~~20~~10',
    slack: 'Price ~20~10',
    teams: 'Price ~20~10',
    text: 'Price ~20~10',
    why: 'struck out, and no 2010, where nothing strikes out',
  },
  {
    markdown: '2*3*4 and a ***b***',
    slack: '2*3*4 and a _*b*_',
    teams: '2*3*4 and a ***b***',
    text: '234 and a b',
    why: 'an underscore within a word is no emphasis (CommonMark, 6.2)',
  },
  {
    markdown: '``a ` b`` and `` `x` ``\n\n````\n```\nx\n```\n````',
    slack: '```a ` b``` and ````x````\n\n```\n```\nx\n```\n```',
    teams: 'a \\` b and \\`x\\`\n\n\\`\\`\\`\n\nx\n\n\\`\\`\\`',
    text: 'a ` b and `x`\n\n```\nx\n```',
    why: 'marks of code within code (CommonMark, 6.1 and 4.5)',
  },
  {
    markdown: 'a <!-- note --> b',
    slack: 'a &lt;!-- note --&gt; b',
    teams: 'a <!-- note --> b',
    text: 'a <!-- note --> b',
    why: 'a comment is no mention',
  },
  {
    markdown: '詳細はhttps://x.example/a、https://x.example/b（図）、「https://x.example/c」。“https://x.example/d”',
    slack:
      '詳細は<https://x.example/a>、<https://x.example/b>（図）、「<https://x.example/c>」。“<https://x.example/d>”',
    teams:
      '詳細は[https://x.example/a](https://x.example/a)、[https://x.example/b](https://x.example/b)（図）、「[https://x.example/c](https://x.example/c)」。“[https://x.example/d](https://x.example/d)”',
    text: '詳細はhttps://x.example/a、https://x.example/b（図）、「https://x.example/c」。“https://x.example/d”',
    why: 'GFM takes along what ends a sentence of Japanese: the link leads nowhere (cmark-gfm#83, marked#3452)',
  },
  {
    markdown: '0. a\n1. [b](https://例え.jp/路)',
    slack: '0.  a\n1.  <https://xn--r8jz45g.jp/%E8%B7%AF|b>',
    teams: '0. a\n1. [b](https://xn--r8jz45g.jp/%E8%B7%AF)',
    text: '0. a\n1. b https://xn--r8jz45g.jp/%E8%B7%AF',
    why: 'a list from 0 (CommonMark, 5.3); a domain in ASCII',
  },
  {
    markdown: 'See <https://e.example/goals/456|the goal>',
    slack: 'See <https://e.example/goals/456|the goal>',
    teams: 'See [the goal](https://e.example/goals/456)',
    text: 'See the goal https://e.example/goals/456',
    why: "a link of Slack's own (his-notification-log-table.md, sample NL002) leads there from everywhere",
  },
];

/** Plain text in a card: what it shows is what was written. */
export const CARD_CASES: readonly (readonly [text: string, card: string])[] = [
  ['Host: web-1\nState: down', 'Host: web-1\n\nState: down'],
  ['a\r\n\r\n\r\nb\rc', 'a\n\nb\n\nc'],
  ['{{DATE(x, SHORT)}} {{time(x)}}', '{\u200b{DATE(x, SHORT)}} {\u200b{time(x)}}'],
  ['*a* _b_ [c] `d` ~~e~~ f_g &amp;', '\\*a\\* \\_b\\_ \\[c\\] \\`d\\` \\~\\~e\\~\\~ f_g \\&amp;'],
  ['# a\n> b\n- c\n+ d\n1. e\n2) f\n---', '\\# a\n\n\\> b\n\n\\- c\n\n\\+ d\n\n1\\. e\n\n2\\) f\n\n\\---'],
  ['a  b\n  c\n\td', 'a\u00a0\u00a0b\n\n\u00a0\u00a0c\n\n\u00a0\u00a0\u00a0\u00a0d'],
  ['__init__', '\\_\\_init\\_\\_'],
  ['>a', '\\>a'],
  ['Go!https://x.example/_a_', 'Go!\u200b[https://x.example/\\_a\\_](https://x.example/_a_)'],
];
