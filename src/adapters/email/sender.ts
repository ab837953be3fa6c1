import { type Body, type Content, type MessageTag, type SESClient, SendEmailCommand } from '@aws-sdk/client-ses';
import type { RendererObject, Tokens } from 'marked';
import * as v from 'valibot';
import { classify } from '../../core/delivery/policy/classification.ts';
import type { Delivery, Refused, Sender } from '../../core/delivery/ports.ts';
import { refusedByUs } from '../../core/model/error-types.ts';
import type { NotificationContent } from '../../core/model/notification.ts';
import { LINKS } from '../content/addresses.ts';
import { convertContent } from '../content/convert-content.ts';
import { box } from '../content/escape-html.ts';
import { htmlToPlainText, timeBoxed } from '../content/html-text.ts';
import { answerExcerpt } from '../http/answers.ts';
import { parseRetryAfter, sdkFacts } from '../http/network-classification.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { providerSafeId, toTag } from '../signing/hashed-ids.ts';
import { fromHeader, mailbox } from './address.ts';
import { EMAIL_RULES, exceededLimit } from './classification.ts';

/**
 * An e-mail integration may have its own sender. It needs no credential, since the function's role may send. With
 * `allow_html`, HTML in a Markdown body is sent as HTML and not as text. Unknown fields are refused.
 */
const emailCredential = v.strictObject({
  tenant_id: v.optional(v.string()),
  from: v.optional(v.pipe(v.string(), v.regex(/^[^\r\n]+@[^\r\n]+$/, 'must be an e-mail address'))),
  allow_html: v.optional(v.boolean(), false),
  configuration_set: v.optional(v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 _ -'))),
});

interface EmailSenderOptions {
  /** A client with `maxAttempts: 1`: only the pipeline retries. */
  readonly client: SESClient;
  readonly credentials: IntegrationCredentials;
  /** The verified address of the sender, unless the integration has its own. */
  readonly from: string;
  readonly configurationSet?: string;
}

/**
 * Sends e-mail through SES v1. Every e-mail carries the tags `log_id` and `attempt`, by which SES's events find their
 * attempt (toTag), and `tenant_id`. An integration may set `from` and `configuration_set`. An integration
 * without a secret uses those of the stage, because sending needs nothing secret.
 */
export function createEmailSender({ client, credentials, from, configurationSet }: EmailSenderOptions): Sender {
  return {
    async send(delivery, signal) {
      const loaded = await credentials.load(emailCredential, delivery, { optional: true });
      if (!loaded.ok) return loaded;
      const to = mailbox(delivery.content.recipient);
      if (to === undefined) return BAD_ADDRESS;
      const body = await convertContent(delivery.content, (content) =>
        bodyOf(content, { html: loaded.credential?.allow_html ?? false }),
      );
      if (!body.ok) return body;
      const source = fromHeader(loaded.credential?.from ?? from);
      if (source === undefined) return BAD_SENDER;
      const configuration = loaded.credential?.configuration_set ?? configurationSet;
      const command = new SendEmailCommand({
        Source: source,
        Destination: { ToAddresses: [to] },
        Message: { Subject: subjectOf(delivery.content), Body: body.value },
        Tags: tagsOf(delivery),
        ...(configuration !== undefined && { ConfigurationSetName: configuration }),
      });
      try {
        const { MessageId, $metadata } = await client.send(command, { abortSignal: signal });
        const response_code = String($metadata.httpStatusCode ?? 200);
        return { ok: true, response_code, ...(MessageId !== undefined && { provider_message_id: MessageId }) };
      } catch (error) {
        return refusalOf(error, delivery);
      }
    },
    refreshCredential: credentials.refresh,
  };
}

const BAD_ADDRESS = refusedByUs('bad_address', 'the recipient is not one e-mail address');
const BAD_SENDER: Refused = { ...refusedByUs('bad_sender', 'the sender is not one e-mail address'), asked: false };

function tagsOf({ log_id, tenant_id, attempt }: Delivery): MessageTag[] {
  return [
    { Name: 'log_id', Value: toTag(log_id) },
    { Name: 'attempt', Value: String(attempt) },
    { Name: 'tenant_id', Value: providerSafeId(tenant_id) },
  ];
}

const DENIAL = /not authorized to perform.*/is;

/** @throws any error that comes neither from the SDK nor from the network: it is a defect of our code */
function refusalOf(error: unknown, { content, at }: Delivery): Refused {
  if (!(error instanceof Error)) throw error;
  const { status, code, text, retryAfter } = sdkFacts(error);
  if (status === undefined && classify({ code }, EMAIL_RULES) === 'UNKNOWN' && !('code' in error)) throw error;
  // The words before it name our role. The right is what an operator needs, and an excerpt could cut it off.
  const [denial] = DENIAL.exec(text) ?? [];
  const excerpt = answerExcerpt(denial ?? text, [content.recipient, content.subject, content.body]);
  const answered = `SES answered ${status} ${code}${denial === undefined ? '' : `: ${excerpt}`}`;
  const delay = parseRetryAfter(retryAfter, at);
  const limit = exceededLimit({ code, text });
  return {
    ok: false,
    error_type: classify({ code, text, ...(status !== undefined && { status }) }, EMAIL_RULES),
    ...(limit && { limit }),
    response_code: code.slice(0, 20),
    message: status === undefined ? `SES could not be reached (${code})` : answered,
    ...(delay !== undefined && { retry_after_ms: delay }),
    details: { code, ...(status !== undefined && { status, text: excerpt }) },
  };
}

/** The subject of an e-mail without one. An empty subject looks like spam and cannot be recognised in a mailbox. */
const NO_SUBJECT = '(no subject)';

/** The subject as UTF-8. SES refuses line breaks in it, so they become spaces. */
function subjectOf({ subject }: NotificationContent): Content {
  return utf8(subject?.replace(/\p{Cc}+/gu, ' ').trim() || NO_SUBJECT);
}

interface BodyOptions {
  /** Whether HTML in a Markdown body is sent as HTML. */
  readonly html: boolean;
}

/**
 * PLAIN is sent as text only. HTML gets a text alternative. MARKDOWN becomes HTML, and what that shows is the text
 * alternative. The converters are loaded on first use.
 */
export async function bodyOf(
  { body, format }: NotificationContent,
  { html }: BodyOptions = { html: false },
): Promise<Body> {
  if (format === 'PLAIN') return { Text: utf8(body) };
  if (format === 'HTML') return { Html: utf8(body), Text: utf8(await htmlToPlainText(body)) };
  const { Marked } = await import('marked');
  const markdown = new Marked({ renderer: html ? { checkbox } : NO_HTML, tokenizer: LINKS });
  const converted = timeBoxed(() => markdown.parse(body, { async: false }));
  return { Html: utf8(converted), Text: utf8(await htmlToPlainText(converted)) };
}

const checkbox = ({ checked }: Tokens.Checkbox): string => box(checked);

/**
 * HTML is shown as the text that it is, because the writer of a Markdown text may pass on words of others. A link or
 * image with another scheme than these (`javascript:`, `data:`) is its text.
 */
const NO_HTML: RendererObject = {
  checkbox,
  html: ({ text }) => escaped(text),
  // False leaves it to marked.
  link({ href, tokens }) {
    return isSafe(href) ? false : this.parser.parseInline(tokens);
  },
  image: ({ href, text }) => (isSafe(href) ? false : escaped(text)),
};

/** Mail clients decode `&colon;` and ignore control characters: a scheme can be hidden in both. */
const isSafe = (href: string): boolean => /^(?:https?|mailto|tel|cid):/i.test(href) || !/^[^/?#]*[:&]/.test(href);

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const utf8 = (text: string): Content => ({ Data: text, Charset: 'UTF-8' });
