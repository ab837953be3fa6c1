import type { BulkReceipt } from './bulk-mails.ts';
import type { BulkRequest } from './bulk-request.ts';

/** What the configuration set of a mail has SES track: it does so where an event destination takes the events. */
export interface Tracked {
  readonly opens: boolean;
  readonly clicks: boolean;
}

/** Where SES sends readers first whose clicks it counts; here nobody answers. */
const TRACKER = 'https://r.us-east-1.awstrack.me';

/** The mail as its reader gets it: a MIME message, with the links and the pixel that SES puts in. */
export function receivedMail(
  receipt: Omit<BulkReceipt, 'events'>,
  { html, text }: BulkRequest['template'],
  tracked: Tracked,
): string {
  const { from, to, subject, headers, at, message_id } = receipt;
  const boundary = `=_${message_id}`;
  const part = (type: string, content: string) =>
    `--${boundary}\r\nContent-Type: ${type}; charset=UTF-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${folded(content)}\r\n`;
  const lines = {
    From: from,
    To: to,
    Subject: encodedWord(subject),
    Date: new Date(at).toUTCString(),
    'Message-ID': `<${message_id}@us-east-1.amazonses.com>`,
    ...headers,
    'MIME-Version': '1.0',
    'Content-Type': `multipart/alternative; boundary="${boundary}"`,
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  const shown = trackedHtml(html, tracked, message_id);
  return `${head.join('')}\r\n${part('text/plain', text)}${part('text/html', shown)}--${boundary}--\r\n`;
}

function trackedHtml(html: string, { opens, clicks }: Tracked, message_id: string): string {
  const linked = clicks
    ? html.replaceAll(
        /(<a\b(?![^>]*\sses:no-track\b)[^>]*\shref=")(https?:[^"]*)"/gi,
        (_, before: string, url: string) =>
          `${before}${TRACKER}/L0/${encodeURIComponent(url.replaceAll('&amp;', '&'))}/1/${message_id}"`,
      )
    : html;
  const sent = linked.replaceAll(/(<a\b[^>]*) ses:no-track\b/gi, '$1');
  return opens ? `${sent}<img alt="" src="${TRACKER}/I0/${message_id}" style="display:none">` : sent;
}

function encodedWord(text: string): string {
  return /^[ -~]*$/.test(text) ? text : `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`;
}

function folded(text: string): string {
  return (
    Buffer.from(text)
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  ).join('\r\n');
}
