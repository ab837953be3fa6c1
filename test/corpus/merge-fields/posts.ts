import type { EmailContent } from '../../../src/core/newsletter/model/email.ts';

/** A post, and what a member whose name is `Ann & Bo` reads. */
interface PostCase {
  readonly body: string;
  readonly format: EmailContent['format'];
  readonly subject?: string;
  readonly newsletter?: string;
  /** The whole text part, without the footer; the subject before it where it has a field. */
  readonly text: string;
  /** Parts of the HTML. */
  readonly html: readonly string[];
  readonly why: string;
}

/** Values that a URL, HTML and Handlebars each take for markup of their own. */
export const MEMBER = {
  name: 'Ann & Bo',
  first_name: 'Ann',
  email: 'ann+news@example.com',
  member_id: 'm/1',
  unsubscribe_url: 'https://api.example/u/e1.00000.0.1.k.mac-_',
} as const;

const LINK = '[S](https://s.example/?email={email}&name={name, "you (both)"}&x=1)';
const SENT = 'https://s.example/?email=ann%2Bnews%40example.com&name=Ann%20%26%20Bo&x=1';

export const POST_CASES: readonly PostCase[] = [
  {
    body: 'Hi **{name}**!',
    format: 'markdown',
    text: 'Hi Ann & Bo!',
    html: ['<strong>Ann &amp; Bo</strong>'],
    why: 'a value in markup',
  },
  {
    body: 'a < b & {name}\n  {email}',
    format: 'text',
    text: 'a < b & Ann & Bo\n  ann+news@example.com',
    html: ['a &lt; b &amp; Ann &amp; Bo\n  ann+news@example.com'],
    why: 'plain text',
  },
  // Braces that are text.
  {
    body: '{{name}} and `{{id}}` and {{{email}}}',
    format: 'markdown',
    text: '{name} and {id} and {{email}}',
    html: ['{name} and <code>{id}</code> and {{email}}'],
    why: 'doubled braces show single ones',
  },
  {
    body: '```\nconst {{name, email}} = {{ name }};\nx = {a: {b: 1}};\n```',
    format: 'markdown',
    text: 'const {name, email} = { name };\nx = {a: {b: 1}};',
    html: ['const {name, email} = { name };'],
    why: 'code can show what would be a field',
  },
  {
    body: '{{#if x}} {{ user.name }} {{ id }} {{ secrets.A }}',
    format: 'text',
    text: '{{#if x}} {{ user.name }} {{ id }} {{ secrets.A }}',
    html: ['{{#if x}} {{ user.name }} {{ id }} {{ secrets.A }}'],
    why: 'what would be no field is as it was written',
  },
  {
    body: '{{name} {name}} {{{name}} \\{name}',
    format: 'text',
    text: '{{name} {name}} {{{name}} \\Ann & Bo',
    html: ['{{name} {name}} {{{name}} \\Ann &amp; Bo'],
    why: 'as many braces on one side as on the other',
  },
  {
    body: '&#123;user_id&#125; &lbrace;name&rcub; &lt;{name}&gt;',
    format: 'html',
    text: '{user_id} {name} <Ann & Bo>',
    html: ['&#123;user_id&#125; &lbrace;name&rcub; &lt;Ann &amp; Bo&gt;'],
    why: 'entities of braces are text',
  },
  {
    body: '&#123;name&#125; \\{name\\} `&#123;name}` `\\{name}`',
    format: 'markdown',
    text: '{name} {name} &#123;name} \\{name}',
    html: ['&#123;name&#125; &#123;name&#125; <code>&amp;#123;name}</code>'],
    why: 'entities and escaped braces are text; code has neither',
  },
  {
    body: '<pre><i>{</i><i>id</i><i>}</i></pre>',
    format: 'html',
    text: '{id}',
    html: ['<i>{</i>'],
    why: 'highlighted code that is no field',
  },
  // Names and values are no sources of fields.
  {
    body: 'x',
    format: 'markdown',
    newsletter: 'Dev {news} {name} {{name}} mergefield0z',
    text: 'x',
    html: ['you subscribe to Dev {news} {name} {{name}} mergefield0z.'],
    why: 'the name of a newsletter',
  },
  {
    body: 'x',
    format: 'text',
    newsletter: '{unsubscribe_url}',
    text: 'x',
    html: ['you subscribe to {unsubscribe_url}.'],
    why: 'the name of a newsletter',
  },
  {
    body: 'mergefield0z address:mergefield1z {name}',
    format: 'markdown',
    text: 'mergefield0z address:mergefield1z Ann & Bo',
    html: ['mergefield0z address:mergefield1z Ann &amp; Bo'],
    why: 'a word that stands for a field meanwhile',
  },
  // Addresses.
  {
    body: LINK,
    format: 'markdown',
    text: `S ${SENT}`,
    html: [`href="${SENT.replaceAll('&', '&amp;')}"`],
    why: 'a value is percent-encoded in an address (RFC 3986, 2.1)',
  },
  {
    body: '<a href="https://s.example/{member_id}/{first_name}?e={email}">S</a>',
    format: 'html',
    text: 'S https://s.example/m%2F1/Ann?e=ann%2Bnews%40example.com',
    html: ['href="https://s.example/m%2F1/Ann?e=ann%2Bnews%40example.com"'],
    why: 'in a path',
  },
  {
    body: 'See https://s.example/?e={email}. Hi {email}',
    format: 'markdown',
    text: 'See https://s.example/?e=ann%2Bnews%40example.com. Hi ann+news@example.com',
    html: ['href="https://s.example/?e=ann%2Bnews%40example.com"', 'ann+news@example.com'],
    why: 'an address that is found in the text',
  },
  {
    body: 'See https://s.example/?e={email} {email}',
    format: 'text',
    text: 'See https://s.example/?e=ann%2Bnews%40example.com ann+news@example.com',
    html: ['?e=ann%2Bnews%40example.com ann+news@example.com'],
    why: 'an address in plain text',
  },
  {
    body: 'See https://例え.jp/ and https:// {name}',
    format: 'text',
    text: 'See https://例え.jp/ and https:// Ann & Bo',
    html: ['See https://例え.jp/ and https:// Ann'],
    why: 'a link to nothing is none (RFC 9110, 4.2.1: a host is not empty)',
  },
  {
    body: '<a href="mailto:x@s.example?subject=From {name}&amp;body={email}">M</a>',
    format: 'html',
    text: 'M mailto:x@s.example?subject=From%20Ann%20%26%20Bo&body=ann%2Bnews@example.com',
    html: ['href="mailto:x@s.example?subject=From Ann%20%26%20Bo&amp;body=ann%2Bnews@example.com"'],
    why: 'an address in quotes may have blanks: browsers take them',
  },
  {
    body: '[S](<https://s.example/for you?n={name}&x=1>)',
    format: 'markdown',
    text: 'S https://s.example/for%20you?n=Ann%20%26%20Bo&x=1',
    html: ['href="https://s.example/for%20you?n=Ann%20%26%20Bo&amp;x=1"'],
    why: 'so may one between the brackets of Markdown',
  },
  {
    body: '<a href="mailto:{email}?subject={name}">M</a>',
    format: 'html',
    text: 'M mailto:ann%2Bnews@example.com?subject=Ann%20%26%20Bo',
    html: ['href="mailto:ann%2Bnews@example.com?subject=Ann%20%26%20Bo"'],
    why: 'RFC 6068',
  },
  {
    body: '<a href=\'{name}\'>x</a> <a title="{name}" href="#a">y</a>',
    format: 'html',
    text: 'x y',
    html: ["href='Ann%20%26%20Bo'", 'title="Ann &amp; Bo"'],
    why: 'a value is no address, and no end of its attribute',
  },
  {
    body: '[Leave]({unsubscribe_url}) or <{unsubscribe_url}?n={name}>',
    format: 'markdown',
    text: 'Leave https://api.example/u/e1.00000.0.1.k.mac-_ or https://api.example/u/e1.00000.0.1.k.mac-_?n=Ann%20%26%20Bo',
    html: ['<a href="https://api.example/u/e1.00000.0.1.k.mac-_">Leave</a>'],
    why: 'the link to unsubscribe is an address',
  },
  {
    body: '<a href=https://s.example/?e={email}>S</a> <a href={unsubscribe_url}>L</a>',
    format: 'html',
    text: 'S https://s.example/?e=ann%2Bnews%40example.com L https://api.example/u/e1.00000.0.1.k.mac-_',
    html: ['href=https://s.example/?e=ann%2Bnews%40example.com>'],
    why: 'values in addresses have no blanks',
  },
  // Subjects.
  {
    subject: '{first_name}: {{name}} & {name}',
    body: 'x',
    format: 'text',
    text: 'Ann: {name} & Ann & Bo\nx',
    html: ['<title>: {name} &amp;</title>'],
    why: 'a subject is plain text',
  },
];

/** Posts that are refused, and what the sentence says. */
export const REFUSED_POSTS: readonly (readonly [EmailContent['format'], string, string])[] = [
  ['markdown', 'Hi {*first_name*}', '{first_name} with nothing else between its braces'],
  ['markdown', 'Hi {`first_name`}', '{first_name} with nothing else between its braces'],
  ['markdown', 'Hi {first\\_name}', '{first_name} with nothing else between its braces'],
  ['markdown', 'Hi {**name**, "you"}', '{name, …} is no merge field: write'],
  ['html', 'Hi {<span>first_name</span>}', '{first_name} with nothing else between its braces'],
  ['html', 'Hi {first<wbr>_name}', 'write {first_name}'],
  ['html', 'Hi {<b>email</b>}', '{email} with nothing else between its braces'],
  ['html', 'Hi <b>{</b>Name}', 'write {name}'],
  ['html', 'Hi {<!-- c -->name}', '{name} with nothing else between its braces'],
  ['html', 'Hi {first_name, "\\"you\\""}', 'with its fallback in straight double quotes'],
  ['html', '<a title={name} href="#">x</a>', 'without quotes'],
  ['html', '<{name}>', 'between < and >'],
  ['markdown', 'Hi <{email}>', 'between < and >'],
  ['html', '<b {name}>x</b>', 'between < and >'],
  ['html', 'Hi {name&nbsp;}', 'write {name}'],
  ['html', 'Hi {\u200bname}', 'write {name}'],
  ['html', 'Hi {name\n}', 'write {name}'],
  ['markdown', 'Hi {first_name,\n“there”}', 'with its fallback in straight double quotes'],
  ['html', '<a href="https://s.example/?e=%7Bemail%7D">x</a>', '%7Bemail%7D is no merge field: write {email}'],
  ['html', '<a href="https://s.example/?e=%7b%7bname%7d%7d">x</a>', 'write {name}'],
  ['markdown', '[x](https://s.example/?n=%7Bname,%20%22you%22%7D)', 'write {name}'],
  ['text', 'Hi {nmae}', '{{nmae}} shows {nmae}'],
  ['markdown', '`{id}`', '{{id}} shows {id}'],
];
