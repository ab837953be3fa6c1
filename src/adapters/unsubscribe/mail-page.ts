import {
  emailOf,
  type RecipientPlace,
  readRecipients,
  type UnsubscribeDeps,
} from '../../core/newsletter/events/unsubscribe.ts';
import type { MailLanguage } from '../../core/newsletter/model/email.ts';
import { mergeValues } from '../../core/newsletter/model/merge-fields.ts';
import type { BatchStore } from '../../core/newsletter/model/ports.ts';
import type { Renderings } from '../../core/newsletter/model/provider.ts';
import { writtenValue } from '../content/addresses.ts';
import { mailToken, readMailToken } from './unsubscribe-link.ts';

/** Links that are a member's. */
const NOWHERE = /<a\b[^>]*\shref=["']?#no-member\b[^>]*>[\s\S]*?<\/a>/gi;

/** What follows a token in the link to the page of a mail. */
export const VIEW = /^[^/]*\/mail\b/;

/** Its author's HTML runs nothing, posts nothing, and gets pictures and fonts only. */
export const MAIL_POLICY =
  "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none'; " +
  "img-src https: data:; font-src https:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

export interface MailPageDeps extends Pick<UnsubscribeDeps, 'emails' | 'chunks' | 'clock'> {
  readonly batches: Pick<BatchStore, 'read'>;
  readonly renderings: Renderings;
}

const OWN: Readonly<Record<MailLanguage, readonly [says: string, share: string]>> = {
  en: ['This is your own copy: whoever has its address can unsubscribe you.', 'A page to share'],
  ja: ['あなた専用のページです。このページのアドレスを知る人は、あなたの配信を停止できます。', '共有用のページ'],
};

/**
 * A mail as it was sent, as long as the rows of its mailing exist. By a member's own link it has the member's values, as
 * long as recipients are kept, and parts; by that of the mailing, which a member finds on the page, only what everybody
 * gets.
 */
export async function mailPage(
  link: { readonly place?: RecipientPlace | undefined; readonly token: string; readonly secret: string },
  deps: MailPageDeps,
): Promise<string | undefined> {
  const { place, token, secret } = link;
  const shared = place === undefined ? readMailToken(secret, token) : undefined;
  const email = await emailOf(place ?? (shared === undefined ? undefined : { email_id: shared }), deps);
  const content = email && (await deps.emails.content(email.email_id));
  if (email === undefined || content === undefined) return undefined;
  const batch = place && (await deps.batches.read(email.email_id, place.batch_id));
  const chunk = place && (await readRecipients(place, { hashed: true }, deps.chunks));
  const recipient = place && chunk?.recipients[place.n];
  const own = token.replace(/\/.*/s, '');
  const values = {
    ...(recipient && mergeValues(recipient)),
    unsubscribe_url: place === undefined ? '#no-member' : `../${own}`,
  };
  const { html } = await deps.renderings.of(email, content, { rendering: batch?.rendering ?? 0 });
  const page = html.map((piece) => (typeof piece === 'string' ? piece : writtenValue(piece, values, 'html'))).join('');
  const sent = page.replaceAll(' ses:no-track', '');
  if (place === undefined) return sent.replaceAll(NOWHERE, '');
  const [says, share] = OWN[content.newsletter.language ?? 'en'];
  const bar =
    '<div style="padding:8px 16px;background-color:#1f2937;color:#ffffff;font:14px/20px sans-serif;text-align:center">' +
    `${says} <a href="../${mailToken(secret, email.email_id)}/mail" style="color:#ffffff">${share}</a></div>`;
  const body = /<body[^>]*>/i.exec(sent);
  const at = body === null ? 0 : body.index + body[0].length;
  return sent.slice(0, at) + bar + sent.slice(at);
}
