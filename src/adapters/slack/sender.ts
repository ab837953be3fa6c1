import * as v from 'valibot';
import { integrationOf } from '../../core/delivery/conduct-attempt.ts';
import type { Accepted, Delivery, Refused, Sender, SendResult } from '../../core/delivery/sender.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import type { PacedReceiver } from '../../core/pacing/paced-gate.ts';
import { SLACK_PER_SECOND } from '../../core/pacing/pacing-policy.ts';
import { convertContent } from '../content/convert-content.ts';
import {
  createPoster,
  createTargetPoster,
  type HttpAnswer,
  type PosterOptions,
  type TargetPoster,
} from '../http/post.ts';
import { faultRefusal, refusalOf } from '../http/refusal.ts';
import { looksLikeUrl, type TargetGuardOptions, targetPorts } from '../http/target-guard.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { integrationKey, recipientKey } from '../signing/hashed-ids.ts';
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

interface SlackSenderOptions extends SlackApiOptions, TargetGuardOptions {
  readonly credentials: IntegrationCredentials;
}

/**
 * Sends to Slack by token (chat.postMessage to the recipient's channel) or by incoming webhook, as the credential of
 * the integration says. A notification without integration is posted to its recipient if that is the https URL of an
 * incoming webhook.
 */
export function createSlackSender({ credentials, slackApiUrl, ...http }: SlackSenderOptions): Sender {
  const api = createSlackApi({ ...http, ...(slackApiUrl && { slackApiUrl }) });
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
      try {
        return token === undefined
          ? await byWebhook({ poster, delivery, message, target: webhook_url ?? '', ports, signal })
          : await byToken({ api, delivery, message, token, signal });
      } catch (error) {
        return faultRefusal(error, SLACK_RULES);
      }
    },
    refreshCredential: credentials.refresh,
  };
}

const NO_ROUTE: Refused = {
  ok: false,
  error_type: 'AUTH_FAILED',
  message:
    'there is no way to post: set integration_config_id to an integration whose secret has token or webhook_url, or give the URL of an incoming webhook as recipient',
};

function urlOf({ content }: Delivery): SlackCredential {
  return looksLikeUrl(content.recipient) ? { webhook_url: content.recipient } : {};
}

interface Posting {
  readonly delivery: Delivery;
  readonly message: SlackMessage;
  readonly signal: AbortSignal;
}

async function byToken(posting: Posting & { api: SlackApi; token: string }): Promise<SendResult> {
  const { api, delivery, message, token, signal } = posting;
  const answer = await api.postMessage({ token, channel: delivery.content.recipient.trim(), ...message }, signal);
  const { http, error, needed } = answer;
  if (answer.ok) return accepted(http, answer.ts);
  const refused = refusalOf(http, { who: 'Slack', delivery, rules: SLACK_RULES, code: error, secrets: [token] });
  const code = (error ?? String(http.status)).slice(0, 20);
  const scope = needed === undefined ? '' : `; the app needs the scope ${needed}`;
  return { ...refused, response_code: code, message: `${refused.message}${scope}` };
}

interface WebhookPosting extends Posting {
  readonly poster: TargetPoster;
  readonly target: string;
  readonly ports: readonly number[] | undefined;
}

async function byWebhook(posting: WebhookPosting): Promise<SendResult> {
  const { poster, delivery, message, target, ports, signal } = posting;
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const answer = await poster.post(target, { headers, body: JSON.stringify(message), ports }, signal);
  if (answer.status >= 200 && answer.status < 300) return accepted(answer);
  const code = /^[a-z_]{1,80}$/.exec(answer.text.trim())?.[0];
  return refusalOf(answer, { who: 'the Slack webhook', delivery, rules: SLACK_RULES, code, secrets: [target] });
}

function accepted({ status }: HttpAnswer, ts?: string): Accepted {
  return { ok: true, response_code: String(status), ...(ts !== undefined && { provider_message_id: ts }) };
}

function tooLong(why: string, length: number): Refused {
  return {
    ok: false,
    error_type: 'FORMAT_ERROR',
    message: `${why}: shorten message_body`,
    details: { length, limit: MAX_TEXT_CHARACTERS },
  };
}

/** What Slack counts posts by: the channel of a token's post, or the incoming webhook. */
export function slackReceiver(credentials: IntegrationCredentials) {
  return async (row: NotificationRow): Promise<PacedReceiver | undefined> => {
    const loaded = await credentials.load(slackCredential, { tenant_id: row.tenant_id, ...integrationOf(row) });
    if (!loaded.ok) return undefined;
    const toWebhook = loaded.credential !== undefined && loaded.credential.token === undefined;
    const key = toWebhook ? integrationKey(row) : recipientKey(row);
    return key === undefined ? undefined : { key, per_second: SLACK_PER_SECOND };
  };
}

const SLACK_API_URL = 'https://slack.com/api/';

/** Slack repeats the message twice in its answer, with up to six bytes per character; a message may have 40,000. */
const MAX_SLACK_ANSWER_BYTES = 2 * 1024 * 1024;

interface SlackApiOptions extends Omit<PosterOptions, 'lookup'> {
  /** Base URL of the Web API; Slack's own unless given. */
  readonly slackApiUrl?: string;
}

interface SlackPost {
  readonly token: string;
  readonly channel: string;
  readonly text: string;
  readonly mrkdwn: boolean;
}

/** Slack's answer to chat.postMessage. */
interface SlackAnswer {
  readonly ok: boolean;
  readonly http: HttpAnswer;
  /** The id of the accepted message in its channel. */
  readonly ts?: string | undefined;
  readonly error?: string | undefined;
  /** The scope that the app lacks, if that is the error. */
  readonly needed?: string | undefined;
}

/** The one method of Slack's Web API that is needed. */
interface SlackApi {
  /**
   * Calls chat.postMessage once.
   * @throws NetworkFault when no answer came.
   */
  postMessage(post: SlackPost, signal: AbortSignal): Promise<SlackAnswer>;
  /** Closes idle connections. */
  close(): void;
}

function createSlackApi({ slackApiUrl = SLACK_API_URL, ...http }: SlackApiOptions = {}): SlackApi {
  const poster = createPoster({ maxAnswerBytes: MAX_SLACK_ANSWER_BYTES, ...http });
  const url = new URL('chat.postMessage', slackApiUrl.endsWith('/') ? slackApiUrl : `${slackApiUrl}/`);
  return {
    async postMessage({ token, channel, text, mrkdwn }, signal) {
      const headers = {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'notification-retry/1',
      };
      const body = new URLSearchParams({ channel, text, mrkdwn: String(mrkdwn) }).toString();
      return readAnswer(await poster.post({ url, headers, body, signal }));
    },
    close: poster.close,
  };
}

/**
 * An acceptance is `{"ok":true,"ts":"1503435956.000247"}`, a refusal `{"ok":false,"error":"missing_scope",
 * "needed":"chat:write"}`.
 */
function readAnswer(http: HttpAnswer): SlackAnswer {
  const { ok, ts, error, needed } = parsed(http.text);
  return {
    ok: http.status === 200 && ok === true,
    http,
    ts: typeof ts === 'string' ? ts : undefined,
    error: word(error, /^\w{1,80}$/),
    needed: word(needed, /^[\w:.,]{1,80}$/),
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    // An acceptance whose end was cut off is still an acceptance: a second post would make a duplicate.
    return { ok: /^\s*\{\s*"ok"\s*:\s*true\b/.test(text) };
  }
}

/** Returns a value only if it has the form of Slack's codes, because other text may quote the message. */
function word(value: unknown, form: RegExp): string | undefined {
  return typeof value === 'string' && form.test(value) ? value : undefined;
}
