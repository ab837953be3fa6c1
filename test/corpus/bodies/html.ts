/** HTML, and the text that a reader of it reads: in the text part of a mail, in Slack and in Teams. */
interface HtmlCase {
  readonly html: string;
  readonly text: string;
  readonly why: string;
}

const DATA = `data:image/png;base64,${'iVBORw0KGgo'.repeat(3_000)}`;

export const HTML_CASES: readonly HtmlCase[] = [
  // Cells, rows, lists.
  { html: '<td>web-1</td><td>42</td>', text: 'web-1 | 42', why: 'cells are apart, also without table and row' },
  {
    html: '<table><tr><th>Host<th>Load<tr><td>web-1<td>42<tr><td>web-2<td></table><p>End',
    text: 'Host | Load\nweb-1 | 42\nweb-2 |\n\nEnd',
    why: 'rows are on lines; HTML lets the ends of cells and rows out (HTML, 13.1.2.4)',
  },
  {
    html: '<table><thead><tr><th>A</th><th></th><th>C</th></tr></thead><tbody><tr><td>1</td><td></td><td>3</td></tr></tbody></table>',
    text: 'A |  | C\n1 |  | 3',
    why: 'a table with headings keeps its empty cells',
  },
  {
    html: '<table><tr><td><p>web-1</p></td><td><p>42 <b>%</b></p></td></tr></table>',
    text: 'web-1 | 42 %',
    why: 'word processors write paragraphs into cells',
  },
  {
    html: '<table><tr><td><table><tr><td><h1>Hi</h1><p>One</p></td></tr></table></td><td>Side</td></tr></table>',
    text: 'Hi\n\nOne\nSide',
    why: 'a layout made of tables: cells of several lines are blocks',
  },
  {
    html: '<dl><dt>Host<dd>web-1<dt>State<dd>down</dl>',
    text: 'Host\n  web-1\nState\n  down',
    why: 'terms and definitions are on lines',
  },
  {
    html: '<select><optgroup label="East"><option>Tokyo<option>Osaka</select>',
    text: 'East\nTokyo\nOsaka',
    why: 'options are apart',
  },
  {
    html: '<ol start="3"><li>a<li value="7">b<ul><li>c</ul><li><p>d</p><p>e</p></ol>',
    text: '3. a\n7. b\n  • c\n8. d\n\n  e',
    why: 'numbers as a browser shows them',
  },
  {
    html: '<ol start="0"><li>a<li>b</ol><ol start="-1"><li>c</ol><ol start="x"><li>d</ol><ol><li value="0">e</ol>',
    text: '0. a\n1. b\n\n-1. c\n\n1. d\n\n0. e',
    why: 'lists of programmers begin with 0, and Markdown keeps it (rust-html2text#18; HTML, 4.4.5)',
  },
  {
    html: '<table><tr><td>Logo</td><td></td><td>&nbsp;</td><td>Menu</td></tr></table>',
    text: 'Logo | Menu',
    why: 'spacers of a layout are nothing',
  },
  {
    html: '<ul><li><input type="checkbox" checked disabled> a<li><input type=checkbox> b</ul><input value="x">',
    text: '• ☑ a\n• ☐ b',
    why: 'tasks: whether they are done is in no word',
  },
  {
    html: '<a href="tel:+81312345678">+81 3 1234-5678</a> <a href="tel:110">police</a>',
    text: '+81 3 1234-5678 police 110',
    why: 'a number is written once, however its digits are grouped (RFC 3966, 5.1.1)',
  },
  { html: 'a<br>b<br><br>c<hr>d', text: 'a\nb\n\nc\n---\nd', why: 'line breaks' },
  { html: '<blockquote>a<p>b</blockquote>c', text: '> a\n>\n> b\n\nc', why: 'quotes, as in mail (RFC 3676, 4.5)' },
  // Code.
  {
    html: '<pre>\n  if (a &lt; b) {\n\n    c  &amp;= "\\n";\n  }\n</pre>z',
    text: '  if (a < b) {\n\n    c  &= "\\n";\n  }\n\nz',
    why: 'code keeps its blanks; the first line break is not its own (HTML, 13.2.6.4.7)',
  },
  { html: 'a  \n  b&nbsp;&nbsp;c', text: 'a b  c', why: 'white space collapses, no-break spaces do not' },
  { html: '<div style="white-space: pre-wrap">a  b\nc</div>', text: 'a  b\nc', why: 'CSS Text, 4.1' },
  // Images.
  { html: `<p>a <img src="${DATA}" alt="Chart of May"> b`, text: 'a Chart of May b', why: 'the text of an image' },
  {
    html: `<p>a <img src="${DATA}"> b <img src="cid:logo@x"><img src=https://t.example/p.gif width=1>`,
    text: 'a b',
    why: 'an image without a text, a pixel',
  },
  { html: '<img alt="data:image/png;base64,AAAA" src="x"><img alt="cid:logo" src="x">z', text: 'z', why: 'no text' },
  {
    html: '<a href="https://x.example/"><img alt="Logo" src="https://x.example/logo.png"></a>',
    text: 'Logo https://x.example/',
    why: 'a linked image: its text and its link',
  },
  { html: `<a href="${DATA}">Chart</a> <a href="cid:x">y</a>`, text: 'Chart y', why: 'no address to go to' },
  // Links.
  {
    html: 'See <a href="https://x.example/a">this</a>.',
    text: 'See this https://x.example/a .',
    why: 'a linkifier takes no dot along',
  },
  { html: '(<a href="https://x.example/a">this</a>)', text: '(this https://x.example/a )', why: 'nor a bracket' },
  {
    html: '詳しくは<a href="https://x.example/a">こちら</a>をご覧ください。',
    text: '詳しくはこちら https://x.example/a をご覧ください。',
    why: 'nor letters without a blank before them',
  },
  {
    html: '<a href="https://x.example/a">https://x.example/a</a> <a href="https://x.example/">x.example</a>',
    text: 'https://x.example/a x.example',
    why: 'said once',
  },
  {
    html: '<a href=" https://x.example/a b?c=&quot;d&quot;&amp;e=1\n">x</a>',
    text: 'x https://x.example/a%20b?c=%22d%22&e=1',
    why: 'whole: blanks and quotes end it otherwise (RFC 3986, appendix C)',
  },
  {
    html: '<a href="https://x.example/a.">x</a>, <a href="https://x.example/b_(c)">y</a>, <a href="https://x.example/d)">z</a>',
    text: 'x https://x.example/a%2E , y https://x.example/b_(c) , z https://x.example/d%29',
    why: 'whole: what linkifiers leave out at the end',
  },
  {
    html: '<a href="mailto:a@b.example">Ask</a> <a href="mailto:a@b.example?subject=Hi there">Ask</a> <a href="tel:+81-3">Call</a>',
    text: 'Ask a@b.example Ask mailto:a@b.example?subject=Hi%20there Call +81-3',
    why: 'addresses as people know them',
  },
  {
    html: '<a href="mailto:ann%2Bnews@b.example">ann+news@b.example</a> <a href="mailto:ann%2Bnews@b.example">Ann</a> <a href="tel:+81%203">Call</a>',
    text: 'ann+news@b.example Ann ann+news@b.example Call +81 3',
    why: 'an escape is for the link, not for its reader (RFC 6068, 2)',
  },
  {
    html: '<a href="https://例え.jp:8443/路">x</a> <a href="https://%E4%BE%8B%E3%81%88.jp">y</a> <a href="mailto:ann@例え.jp">z</a>',
    text: 'x https://xn--r8jz45g.jp:8443/%E8%B7%AF y https://xn--r8jz45g.jp z ann@xn--r8jz45g.jp',
    why: 'a domain is in ASCII by IDNA (RFC 3987, 3.1): linkifiers take no % in one',
  },
  {
    html: '<a href="#top">Top</a> <a href="/a">A</a> <a href="javascript:alert(1)">B</a> <a name="c">C</a>',
    text: 'Top A B C',
    why: 'nothing that leads nowhere outside of its page',
  },
  // What nobody sees.
  {
    html: '<div style="display:none;max-height:0;overflow:hidden">Hidden &zwnj;&nbsp;</div><p>Seen',
    text: 'Seen',
    why: 'a preheader',
  },
  {
    html: `<style>.p{display:none}</style><div class="p">Soon${'&#847;&zwnj;&nbsp;'.repeat(90)}</div><p>Donau&shy;dampf &nbsp; می\u200cخواهم</p>`,
    text: 'Soon\n\nDonaudampf   می\u200cخواهم',
    why: 'what fills the line of a preheader, and places to break a word; a letter of Persian stays (rust-html2text#134)',
  },
  { html: '<span style="OVERFLOW:HIDDEN; Max-Height : 0px">Hidden</span>Seen', text: 'Seen', why: 'a preheader' },
  { html: '<div style="font-size:1px;line-height:1px;color:#fff">Hidden</div>Seen', text: 'Seen', why: 'a preheader' },
  {
    html: '<div style="mso-hide:all">a</div><div style="visibility: hidden">b</div><div hidden>c</div>d',
    text: 'd',
    why: 'hidden',
  },
  { html: '<div style="opacity:0 !important">a</div><p style="opacity:0.9">b', text: 'b', why: 'hidden, and seen' },
  {
    html: '<td style="font-size:0"><span style="font-size:16px">Seen</span></td>',
    text: 'Seen',
    why: 'layouts close gaps by a size of 0',
  },
  { html: '<p style="max-height:100px;overflow:hidden">Seen', text: 'Seen', why: 'no preheader' },
  {
    html: '<html><head><title>T</title><style>p{color:red}</style><meta charset=utf-8><body><!-- c --><!--[if mso]><p>Outlook</p><![endif]--><script>s</script>Seen',
    text: 'Seen',
    why: 'heads, comments, scripts',
  },
  { html: '<html><head><meta charset="utf-8"><p>Seen', text: 'Seen', why: 'a head without an end (HTML, 13.1.2.4)' },
  { html: '<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>', text: '漢字(かんじ)', why: 'HTML, 4.5.10' },
  { html: '<p dir="rtl">שלום <b>עולם</b> 42</p>', text: 'שלום עולם 42', why: 'in the order of the writing' },
  { html: '&lt;b&gt; &amp;amp; &#123;name&#125;', text: '<b> &amp; {name}', why: 'entities are read once' },
  { html: '<h1>Web-1 Is DOWN</h1>', text: 'Web-1 Is DOWN', why: 'capitals change names' },
  {
    html: '10<sup>3</sup> H<sub>2</sub>O, the 1<sup>st</sup>',
    text: '10³ H₂O, the 1st',
    why: 'a number is no other one for want of a raised digit',
  },
  { html: 'Price <del>20</del><ins>10</ins>', text: 'Price ~20~10', why: 'struck out, and no 2010' },
  { html: '<button>Yes</button><button>No</button>', text: 'Yes No', why: 'buttons are apart' },
  {
    html: '<span style="display:block">web-1</span><span style="display: block">42</span>',
    text: 'web-1\n42',
    why: 'an element of any name may be a block',
  },
  {
    html: '<div style="display:flex"><span>web-1</span><span>42</span></div>',
    text: 'web-1 42',
    why: 'what a flexible box holds is apart',
  },
  {
    html: '<map><area href="https://e.example/n" alt="North"><area href="https://e.example/s" alt="South"></map>',
    text: 'North https://e.example/n South https://e.example/s',
    why: 'the links of an image map',
  },
];
