import type { Body, Content } from '@aws-sdk/client-ses';
import type { RendererObject } from 'marked';
import type { NotificationContent } from '../../core/model/notification.ts';
import { timeBoxed } from '../content/conversion-timeout.ts';
import { htmlToPlainText } from '../content/html-text.ts';

/** The subject of an e-mail without one. An empty subject looks like spam and cannot be recognised in a mailbox. */
const NO_SUBJECT = '(no subject)';

/** The subject as UTF-8. SES refuses line breaks in it, so they become spaces. */
export function subjectOf({ subject }: NotificationContent): Content {
  return utf8(subject?.replace(/\p{Cc}+/gu, ' ').trim() || NO_SUBJECT);
}

interface BodyOptions {
  /** Whether HTML in a Markdown body is sent as HTML. */
  readonly html: boolean;
}

/**
 * PLAIN is sent as text only. HTML gets a text alternative. MARKDOWN becomes HTML, and its source, which is readable,
 * is the text alternative. The converters are loaded on first use.
 */
export async function bodyOf(
  { body, format }: NotificationContent,
  { html }: BodyOptions = { html: false },
): Promise<Body> {
  if (format === 'PLAIN') return { Text: utf8(body) };
  if (format === 'HTML') return { Html: utf8(body), Text: utf8(await htmlToPlainText(body)) };
  const { Marked } = await import('marked');
  const markdown = new Marked(html ? {} : { renderer: NO_HTML });
  return { Html: utf8(timeBoxed(() => markdown.parse(body, { async: false }))), Text: utf8(body) };
}

/**
 * HTML is shown as the text that it is, because the writer of a Markdown text may pass on words of others. A link or
 * image with another scheme than these (`javascript:`, `data:`) is its text.
 */
const NO_HTML: RendererObject = {
  html: ({ text }) => escaped(text),
  // False leaves it to marked.
  link({ href, tokens }) {
    return isSafe(href) ? false : this.parser.parseInline(tokens);
  },
  image: ({ href, text }) => (isSafe(href) ? false : escaped(text)),
};

/**
 * One of these schemes, or none. A mail client decodes `&colon;` and ignores control characters, so a scheme can be
 * hidden in both.
 */
function isSafe(href: string): boolean {
  return /^(?:https?|mailto|tel|cid):/i.test(href) || !/^[^/?#]*[:&]/.test(href);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function utf8(text: string): Content {
  return { Data: text, Charset: 'UTF-8' };
}
