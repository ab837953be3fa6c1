import { Marked } from 'marked';
import { LINKS } from './addresses.ts';
import { box } from './escape-html.ts';

/** A brace that is escaped, or written as its entity, stays an entity: it is text, and no field, for who reads the HTML. */
const BRACES: Readonly<Record<string, string>> = { '{': '&#123;', '}': '&#125;' };

const ENTITIES = /&#(?:0*12[35]|x0*7[bd]);/i;

const markdown = new Marked({
  tokenizer: LINKS,
  renderer: { checkbox: ({ checked }) => box(checked) },
  walkTokens(token) {
    if (token.type === 'escape') token.text = BRACES[token.text] ?? token.text;
    else if (token.type === 'text' && ENTITIES.test(token.raw)) token.text = token.raw;
  },
});

/** Markdown, and the HTML in it, as HTML. */
export const markdownToHtml = (text: string): string => markdown.parse(text, { async: false });
