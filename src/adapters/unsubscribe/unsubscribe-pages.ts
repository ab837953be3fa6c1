import { createHash } from 'node:crypto';
import {
  emailOf,
  type RecipientPlace,
  readRecipients,
  type UnsubscribeDeps,
} from '../../core/newsletter/events/unsubscribe.ts';
import { MAIL_PAGE, type MailLanguage, mailLanguageOf } from '../../core/newsletter/model/email.ts';
import { mergeValues } from '../../core/newsletter/model/merge-fields.ts';
import type { BatchStore } from '../../core/newsletter/model/ports.ts';
import type { Renderings } from '../../core/newsletter/model/provider.ts';
import { filledIn } from '../content/addresses.ts';
import { escapeHtml } from '../content/escape-html.ts';
import { mailToken, readMailToken } from '../signing/signed-tokens.ts';

/** The pages behind an unsubscribe link: plain HTML, no script, nothing from anywhere else. */
const STYLE =
  ':root{color-scheme:light dark}body{font:1.125rem/1.6 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1.5rem}' +
  'h1{font-size:1.5rem;line-height:1.3;overflow-wrap:anywhere}' +
  'button{font:inherit;padding:.6rem 1.4rem;border:0;border-radius:.4rem;background:#1a5fb4;color:#fff;cursor:pointer}' +
  'button:focus-visible{outline:3px solid #99c1f1;outline-offset:3px}';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  // With no-referrer a browser posts the form with `Origin: null`, which guards refuse. The link goes nowhere else.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
} as const;

const TEXTS = {
  en: {
    ask: (newsletter: string) => `Unsubscribe from ${newsletter}?`,
    button: 'Unsubscribe',
    done: 'You are unsubscribed',
    doneMore: (newsletter = 'this newsletter') =>
      `You get no more mail of ${newsletter}. A mail that was on its way may still arrive.`,
    undo: 'Subscribe again',
    undone: (newsletter: string) => `You are subscribed to ${newsletter} again`,
    invalid: 'This link is not valid',
    invalidMore: 'It may have expired, or a part of it is missing. Use the link of a newer mail.',
    fault: 'This did not work',
    faultMore: 'Please try again in a minute.',
  },
  ja: {
    ask: (newsletter: string) => `${newsletter}の配信を停止しますか？`,
    button: '配信を停止する',
    done: '配信を停止しました',
    doneMore: (newsletter = 'このニュースレター') =>
      `${newsletter}は今後届きません。送信中のメールは届くことがあります。`,
    undo: 'もう一度購読する',
    undone: (newsletter: string) => `${newsletter}の配信を再開しました`,
    invalid: 'このリンクは無効です',
    invalidMore: '有効期限が切れているか、リンクの一部が欠けています。新しいメールのリンクをお使いください。',
    fault: '処理できませんでした',
    faultMore: 'しばらくしてからもう一度お試しください。',
  },
};

export function languageOf(acceptLanguage: string | undefined): MailLanguage {
  return /^\s*ja\b/i.test(acceptLanguage ?? '') ? 'ja' : 'en';
}

/** Fields of the pages' forms, by which they are told from the one click of a mail program. */
const UNDO = 'undo';
const PAGE = 'page';

/** What a POST is: of a page, or a mail program's, and whether it takes the unsubscription back. */
export function readForm(body: string) {
  const form = new URLSearchParams(body);
  return { undo: form.has(UNDO), ofPage: form.has(PAGE) };
}

/** The form has no address to post to: it posts to the page's own. */
const form = (field: string, button: string): string =>
  `<form method="post"><input type="hidden" name="${PAGE}" value="1">${field}<button type="submit">${button}</button></form>`;

export function askPage(newsletter: string, language: MailLanguage): string {
  const { ask, button } = TEXTS[language];
  return page(
    language,
    ask(newsletter),
    form('<input type="hidden" name="List-Unsubscribe" value="One-Click">', button),
  );
}

/** What has been done, and how to take it back; without a newsletter for a mail program. */
export function donePage(newsletter: string | undefined, language: MailLanguage, can_undo: boolean): string {
  const { done, doneMore, undo } = TEXTS[language];
  const back = !can_undo ? '' : form(`<input type="hidden" name="${UNDO}" value="1">`, undo);
  return page(language, done, `<p>${escapeHtml(doneMore(newsletter))}</p>${back}`);
}

export const undonePage = (newsletter: string, language: MailLanguage): string =>
  page(language, TEXTS[language].undone(newsletter), '');

export function textPage(text: 'invalid' | 'fault', language: MailLanguage): string {
  return page(language, TEXTS[language][text], `<p>${TEXTS[language][`${text}More`]}</p>`);
}

function page(language: MailLanguage, title: string, content: string): string {
  const heading = escapeHtml(title);
  return (
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8">` +
    `<meta name="viewport" content="width=device-width,initial-scale=1"><title>${heading}</title><style>${STYLE}</style>` +
    `</head><body><main><h1>${heading}</h1>${content}</main></body></html>`
  );
}

/** Links that are a member's. */
const NOWHERE = /<a\b[^<>]*\shref=["']?#no-member\b[^<>]*>[\s\S]*?<\/a>/gi;

/** What an author's HTML says of referrers: the page's address is the right to unsubscribe, and goes nowhere else. */
const REFERRER = /<meta\b[^<>]*\sname\s*=\s*["']?referrer\b[^<>]*>|\sreferrerpolicy\s*=\s*["']?[\w-]*["']?/gi;

/** What follows a token in the link to the page of a mail. */
export const VIEW = new RegExp(`^[^/]*${MAIL_PAGE}\\b`);

/** Its author's HTML runs nothing, posts nothing, and gets pictures and fonts only. */
export const MAIL_POLICY =
  "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none'; " +
  "img-src https: data:; font-src https:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

export interface MailPageDeps extends Pick<UnsubscribeDeps, 'emails' | 'chunks' | 'members' | 'clock'> {
  readonly batches: Pick<BatchStore, 'read'>;
  readonly renderings: Renderings;
}

const OWN: Readonly<Record<MailLanguage, readonly [says: string, share: string]>> = {
  en: ['This is your own copy: whoever has its address can unsubscribe you.', 'A page to share'],
  ja: ['あなた専用のページです。このページのアドレスを知る人は、あなたの配信を停止できます。', '共有用のページ'],
};

/**
 * A mail as it was sent, as long as the rows of its mailing exist. By a member's own link it has the member's values, as
 * long as recipients are kept and the member is not deleted, and parts; by that of the mailing, which a member finds on
 * the page, only what everybody gets.
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
  const member = recipient && (await deps.members.read(email.tenant_id, recipient.member_id));
  const own = token.replace(/[^\w.-].*/s, '');
  const values = {
    ...(recipient && member && mergeValues(recipient)),
    unsubscribe_url: place === undefined ? '#no-member' : `../${own}`,
  };
  const { html } = await deps.renderings.of(email, content, { rendering: batch?.rendering ?? 0 });
  const sent = filledIn(html, values, 'html').replaceAll(' ses:no-track', '').replaceAll(REFERRER, '');
  if (place === undefined) return sent.replaceAll(NOWHERE, '').replaceAll('#no-member', '');
  const [says, share] = OWN[mailLanguageOf(content.newsletter)];
  const bar =
    '<div style="padding:8px 16px;background-color:#1f2937;color:#ffffff;font:14px/20px sans-serif;text-align:center">' +
    `${says} <a href="../${mailToken(secret, email.email_id)}${MAIL_PAGE}" style="color:#ffffff">${share}</a></div>`;
  const body = /<body[^>]*>/i.exec(sent);
  const at = body === null ? 0 : body.index + body[0].length;
  return sent.slice(0, at) + bar + sent.slice(at);
}
