import { utf8Bytes } from '../../model/text.ts';
import type { Email, EmailContent, Tracking } from '../model/email.ts';
import type { Pieces } from '../model/merge-fields.ts';
import type { Renderings } from '../model/provider.ts';

/** What Gmail shows of a mail: so many bytes of its HTML in UTF-8, its transfer encoding undone. */
const SHOWN_KB = 102;

/** Bytes of a value, as most members have it; an unsubscribe link carries a signed token. */
const VALUE = 25;
const UNSUBSCRIBE_URL = 200;
/** Bytes that SES adds for clicks per link, beside the address in its new form, and for opens per mail. */
const TRACKED_LINK = 140;
const TRACKING_PIXEL = 200;

/** Renderings that are measured: each is converted anew. */
const MOST_MEASURED = 5;

/** Why Gmail would not show the whole mail, in a sentence; renderings with their recipients. */
export async function clippedByGmail(
  email: Email,
  content: EmailContent,
  shown: Readonly<Record<string, number>>,
  renderings: Renderings,
): Promise<string | undefined> {
  const byRecipients = Object.entries(shown).sort(([, a], [, b]) => b - a);
  const parts = byRecipients.slice(0, MOST_MEASURED).map(([rendering]) => Number(rendering));
  const bytesOf = async (rendering: number) => {
    const { html, own_bytes = 0 } = await renderings.of(email, content, { rendering });
    const added = Math.max(0, htmlAsSent(html, { opens: false, clicks: false }) - own_bytes);
    return { sent: htmlAsSent(html, content.newsletter.track), added };
  };
  // Where all parts together are not too long, no rendering is.
  const together = byRecipients.reduce((bits, [rendering]) => bits | Number(rendering), 0);
  if ((await bytesOf(together)).sent <= SHOWN_KB * 1024) return undefined;
  let most = { sent: 0, added: 0 };
  for (const rendering of parts) {
    const found = await bytesOf(rendering);
    if (found.sent > most.sent) most = found;
  }
  if (most.sent <= SHOWN_KB * 1024) return undefined;
  const [sent, added] = [most.sent, most.added].map((bytes) => Math.ceil(bytes / 1024));
  return (
    `The HTML is about ${sent} KB as it is sent, ${added} KB of it the template's and the footer's. Gmail shows ` +
    `${SHOWN_KB} KB, and hides the rest, with the link to unsubscribe, behind "View entire message": shorten the post.`
  );
}

/** Bytes of HTML with values in its fields, and with what SES adds to count opens and clicks. */
export function htmlAsSent(html: Pieces, { opens, clicks }: Tracking = { opens: true, clicks: true }): number {
  const sent = html.map((piece) => (typeof piece === 'string' ? piece : sample(piece.field, piece.fallback))).join('');
  let bytes = utf8Bytes(sent) + (opens ? TRACKING_PIXEL : 0);
  if (!clicks) return bytes;
  for (const [, untracked, url = ''] of sent.matchAll(/\s(ses:no-track )?href\s*=\s*["']?(https?:[^"'\s>]*)/gi)) {
    if (untracked !== undefined) continue;
    bytes += TRACKED_LINK + encodeURIComponent(url.replaceAll('&amp;', '&').toWellFormed()).length - utf8Bytes(url);
  }
  return bytes;
}

function sample(field: string, fallback = ''): string {
  return field === 'unsubscribe_url' ? 'https://'.padEnd(UNSUBSCRIBE_URL, 'x') : fallback.padEnd(VALUE, 'x');
}
