import type { Body, Content } from '@aws-sdk/client-ses';
import type { NotificationContent } from '../../core/model/notification.ts';
import { htmlToPlainText } from '../content/html-text.ts';
import { timeBoxed } from '../content/time-box.ts';

/** What a mail without a subject gets: an empty one is taken for spam, and cannot be told apart in a mailbox. */
const NO_SUBJECT = '(no subject)';

/** As UTF-8; a line break in a subject would be refused, so it becomes a space. */
export function subjectOf({ subject }: NotificationContent): Content {
  return utf8(subject?.replace(/\p{Cc}+/gu, ' ').trim() || NO_SUBJECT);
}

/**
 * PLAIN is text alone. HTML gets a text alternative. MARKDOWN becomes HTML, and its source, which reads well, is the
 * text alternative. The converters are loaded on first use.
 */
export async function bodyOf({ body, format }: NotificationContent): Promise<Body> {
  if (format === 'PLAIN') return { Text: utf8(body) };
  if (format === 'HTML') return { Html: utf8(body), Text: utf8(await htmlToPlainText(body)) };
  const { marked } = await import('marked');
  return { Html: utf8(timeBoxed(() => marked.parse(body, { async: false }))), Text: utf8(body) };
}

function utf8(text: string): Content {
  return { Data: text, Charset: 'UTF-8' };
}
