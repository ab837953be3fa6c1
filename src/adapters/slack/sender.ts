import * as v from 'valibot';
import { chosenIntegration } from '../../core/delivery/conduct-attempt.ts';
import type { Delivery, Refused, Sender, SendResult } from '../../core/delivery/ports.ts';
import { refusedByUs } from '../../core/model/error-types.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import { jsonObject } from '../../core/model/text.ts';
import { SLACK_PER_SECOND } from '../../core/pacing/pacing-policy.ts';
import type { PacedReceiver } from '../../core/pacing/ports.ts';
import { convertContent } from '../content/convert-content.ts';
import { acceptanceOf, faultRefusal, refusalOf, type TextVerdict } from '../http/answers.ts';
import { type HttpAnswer, PAGE } from '../http/network-classification.ts';
import { createPoster, type Poster } from '../http/post.ts';
import { createTargetPoster, looksLikeUrl, postTo, type TargetPosterOptions, targetPorts } from '../http/target.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { recipientBudget, sharedBudget } from '../signing/hashed-ids.ts';
import { SLACK_RULES } from './classification.ts';
import { MAX_TEXT_CHARACTERS, type SlackMessage, slackMessage, tooLongToConvert } from './message.ts';

/**
 * A bot token posts to any channel that the bot is in. The URL of an incoming webhook posts to the channel that it was
 * made for, on port 443 or one of `ports`. If both are given, the token is used. Unless `allow_mentions` is set, the
 * mentions in a message notify nobody.
 */
export const slackCredential = v.pipe(
  v.object({
    token: v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/, 'must be a token without spaces'))),
    webhook_url: v.optional(v.string()),
    ports: targetPorts,
    allow_mentions: v.optional(v.boolean(), false),
  }),
  v.check(({ token, webhook_url }) => (token ?? webhook_url) !== undefined, 'must have token or webhook_url'),
);
type SlackCredential = v.InferInput<typeof slackCredential>;

interface SlackSenderOptions extends TargetPosterOptions {
  readonly credentials: IntegrationCredentials;
  /** Base URL of the Web API; Slack's own unless given. */
  readonly slackApiUrl?: string;
}

/**
 * Sends to Slack by token (chat.postMessage to the recipient's channel) or by incoming webhook, as the credential of
 * the integration says. A notification without integration is posted to its recipient if that is the https URL of an
 * incoming webhook.
 */
export function createSlackSender({ credentials, slackApiUrl = SLACK_API_URL, ...http }: SlackSenderOptions): Sender {
  const api = createPoster({ maxAnswerBytes: MAX_SLACK_ANSWER_BYTES, ...http });
  const url = new URL('chat.postMessage', slackApiUrl.endsWith('/') ? slackApiUrl : `${slackApiUrl}/`);
  const poster = createTargetPoster(http);
  return {
    async send(delivery, signal) {
      const loaded = await credentials.load(slackCredential, delivery);
      if (!loaded.ok) return loaded;
      const { token, webhook_url, ports, allow_mentions: mentions = false } = loaded.credential ?? urlOf(delivery);
      if (token === undefined && webhook_url === undefined) return NO_ROUTE;
      const why = tooLongToConvert(delivery.content);
      if (why !== undefined) return tooLong(why, delivery.content.body.length);
      const conversion = await convertContent(delivery.content, (content) => slackMessage(content, { mentions }));
      if (!conversion.ok) return conversion;
      const message = conversion.value;
      const { length } = [...message.text];
      if (length > MAX_TEXT_CHARACTERS) {
        return tooLong(`the message has ${length} characters; Slack takes at most ${MAX_TEXT_CHARACTERS}`, length);
      }
      if (token !== undefined) return byToken({ api, url, delivery, message, token, signal });
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      const posted = { headers, body: JSON.stringify(message), ports };
      const context = { who: 'the Slack webhook', rules: SLACK_RULES, codeIn, verdictOf };
      return postTo({ poster, delivery, target: webhook_url ?? '', message: posted, signal, ...context });
    },
    refreshCredential: credentials.refresh,
  };
}

const NO_ROUTE = refusedByUs('no_route', 'there is neither a token nor a webhook to post by');

function urlOf({ content }: Delivery): SlackCredential {
  return looksLikeUrl(content.recipient) ? { webhook_url: content.recipient } : {};
}

interface TokenPosting {
  readonly api: Poster;
  readonly url: URL;
  readonly delivery: Delivery;
  readonly message: SlackMessage;
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Calls chat.postMessage once. */
async function byToken({ api, url, delivery, message, token, signal }: TokenPosting): Promise<SendResult> {
  const headers = {
    accept: 'application/json',
    authorization: `Bearer ${token}`,
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': 'notification-retry/1',
  };
  const channel = delivery.content.recipient.trim();
  const body = new URLSearchParams({ channel, text: message.text, mrkdwn: String(message.mrkdwn) }).toString();
  const context = { who: 'Slack', delivery, rules: SLACK_RULES, secrets: [token] };
  try {
    const answer = await api.post({ url, headers, body, signal });
    const { verdict, ts, error, needed } = readAnswer(answer);
    if (answer.status >= 200 && answer.status < 300 && verdict !== 'failed') {
      return { ...acceptanceOf(answer, verdict), ...(ts !== undefined && { provider_message_id: ts }) };
    }
    const refused = refusalOf(answer, { ...context, code: error });
    const code = (error ?? String(answer.status)).slice(0, 20);
    const scope = needed === undefined ? '' : `; the app needs the scope ${needed}`;
    return { ...refused, response_code: code, message: `${refused.message}${scope}` };
  } catch (error) {
    return faultRefusal(error, context);
  }
}

function tooLong(why: string, length: number): Refused {
  return { ...refusedByUs('too_long', why), details: { length, limit: MAX_TEXT_CHARACTERS } };
}

/** What Slack counts posts by: the channel of a token's post, or the incoming webhook. */
export function slackReceiver(credentials: IntegrationCredentials) {
  return async (row: NotificationRow): Promise<PacedReceiver | undefined> => {
    const loaded = await credentials.load(slackCredential, { tenant_id: row.tenant_id, ...chosenIntegration(row) });
    if (!loaded.ok) return undefined;
    const toWebhook = loaded.credential !== undefined && loaded.credential.token === undefined;
    const budget = toWebhook ? sharedBudget(row) : recipientBudget(row);
    return budget && { ...budget, per_second: SLACK_PER_SECOND };
  };
}

const SLACK_API_URL = 'https://slack.com/api/';

/** Slack repeats the message twice in its answer, with up to six bytes per character; a message may have 40,000. */
const MAX_SLACK_ANSWER_BYTES = 2 * 1024 * 1024;

/** `{"ok":true,"ts":"1503435956.000247"}`, or `{"ok":false,"error":"missing_scope","needed":"chat:write"}`. */
function readAnswer({ text, complete }: HttpAnswer) {
  const { ts, needed } = jsonObject(text) ?? {};
  // The Web API answers with JSON: an empty or incomplete text was cut off, any other is not Slack's.
  const isCut = !PAGE.test(text) && (!complete || text.trim() === '' || text.trimStart().startsWith('{'));
  return {
    verdict: isCut ? jsonVerdict(text) : 'failed',
    /** The id of the accepted message in its channel. */
    ts: typeof ts === 'string' ? ts : undefined,
    error: codeIn(text),
    /** The scope that the app lacks, if that is the error. */
    needed: word(needed, /^[\w:.,]{1,80}$/),
  };
}

function jsonVerdict(text: string): TextVerdict {
  const json = jsonObject(text);
  if (json === undefined) {
    const said = /(?<!\\)"ok"\s*:\s*(true|false)/.exec(text)?.[1];
    return said === undefined ? undefined : said === 'true' ? 'accepted' : 'failed';
  }
  const { ok, error } = json;
  if (ok === true) return 'accepted';
  return ok !== undefined || typeof error === 'string' ? 'failed' : undefined;
}

/** What an incoming webhook says with status 200: documented is `ok`, but errors have come with it as well. */
function verdictOf(text: string): TextVerdict {
  const said = text.trim();
  if (said === '' || /^"?ok"?$/i.test(said)) return 'accepted';
  if (said.startsWith('{')) return jsonVerdict(said);
  return PAGE.test(said) || codeIn(said) !== undefined ? 'failed' : undefined;
}

/** In JSON, or as the whole text: `no_service`. Words with blanks, or a word alone, are a code only if it is known. */
function codeIn(text: string): string | undefined {
  const said = text.trim();
  const json = jsonObject(said);
  if (json !== undefined) return word(json['error'], /^\w{1,80}$/);
  const known = said.toLowerCase().replaceAll(' ', '_');
  return KNOWN_CODES.has(known) ? known : word(said, /^(?=.{1,80}$)[a-z]+(_[a-z]+)+$/);
}

const KNOWN_CODES = new Set(SLACK_RULES.flatMap(({ code = [] }) => code));

/** Returns a value only if it has the form of Slack's codes, because other text may quote the message. */
function word(value: unknown, form: RegExp): string | undefined {
  return typeof value === 'string' && form.test(value) ? value : undefined;
}
