import type { Body, Content } from '@aws-sdk/client-ses';
import type { NotificationContent } from '../../core/model/notification.ts';
import { timeBoxed } from '../content/conversion-timeout.ts';
import { htmlToPlainText } from '../content/html-text.ts';

/** The subject of an e-mail without one. An empty subject looks like spam and cannot be recognised in a mailbox. */
const NO_SUBJECT = '(no subject)';

/** The subject as UTF-8. SES refuses line breaks in it, so they become spaces. */
export function subjectOf({ subject }: NotificationContent): Content {
  return utf8(subject?.replace(/\p{Cc}+/gu, ' ').trim() || NO_SUBJECT);
}

/**
 * PLAIN is sent as text only. HTML gets a text alternative. MARKDOWN becomes HTML, and its source, which is readable,
 * is the text alternative. The converters are loaded on first use.
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
