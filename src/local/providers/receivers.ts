import type { IncomingMessage } from 'node:http';
import type { Channel } from '../../core/model/channels.ts';
import { isObject, parsed } from '../support/json.ts';
import { type Answer, answersOf, type Call, type FormatAnswer, REFUSALS_BY_STATUS } from './respond.ts';
import type { Refusal } from './scripted-answer.ts';

/** The simulated Slack accepts every token except this one. */
export const REVOKED_TOKEN = 'xoxb-revoked';

const json = (status: number, value: object): Answer => {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(value) };
};
const text = (status: number, body: string): Answer => ({ status, headers: { 'content-type': 'text/html' }, body });
const limited = (body: string) => (seconds: number) => {
  return { status: 429, headers: { 'retry-after': String(seconds) }, body };
};

/** Slack's Web API refuses with status 200 and an error code. */
const slackError = (error: string, more: object = {}) => json(200, { ok: false, error, ...more });
const slackApi = answersOf({
  accept: () => json(200, { ok: true, channel: 'C0LOCAL', ts: `${(Date.now() / 1000).toFixed(6)}` }),
  status: (status) => json(status, { ok: false, error: 'internal_error' }),
  limit: limited(JSON.stringify({ ok: false, error: 'ratelimited' })),
  refuse: {
    gone: slackError('is_archived'),
    missing: slackError('channel_not_found'),
    unauthorized: slackError('invalid_auth'),
    forbidden: slackError('missing_scope', { needed: 'chat:write', provided: 'channels:read' }),
    malformed: slackError('invalid_blocks'),
  },
  error: slackError,
});

/** Incoming webhooks answer with HTTP statuses and plain text. */
const slackWebhook = answersOf({
  accept: () => text(200, 'ok'),
  status: (status) => text(status, 'rollup_error'),
  limit: limited('rate_limited'),
  refuse: {
    gone: text(410, 'channel_is_archived'),
    missing: text(404, 'channel_not_found'),
    unauthorized: text(403, 'invalid_token'),
    forbidden: text(403, 'action_prohibited'),
    malformed: text(400, 'invalid_payload'),
  },
  error: (code) => text(400, code),
});

/** A receiver that has no protocol of its own beyond HTTP statuses. */
const plain = (accepted: Answer) =>
  answersOf({
    accept: () => accepted,
    status: (status) => ({ status, body: `status ${status}, as asked` }),
    limit: limited('too many requests'),
    refuse: Object.fromEntries(
      Object.entries(REFUSALS_BY_STATUS).map(([why, status]) => [why, { status, body: why }]),
    ) as Record<Refusal, Answer>,
    error: (code) => ({ status: 400, body: JSON.stringify({ error: { code, message: 'as asked' } }) }),
  });

interface Receiver {
  readonly path: RegExp;
  readonly channel: Channel;
  readonly format: FormatAnswer;
  /** What the request says beside its body. @param rest the group of the path */
  readonly call: (rest: string, request: IncomingMessage, body: string) => Partial<Call> & Pick<Call, 'word'>;
}

const RECEIVERS: readonly Receiver[] = [
  {
    path: /^\/slack\/api\/chat\.postMessage$/,
    channel: 'slack',
    format: slackApi,
    /** The body is JSON or a form, because SDKs send both. */
    call(_, { headers: { 'content-type': type = '', authorization = '' } }, body) {
      const fields = type.includes('json') ? parsed(body) : Object.fromEntries(new URLSearchParams(body));
      const { token, ...message } = isObject(fields) ? fields : {};
      const target = String(message['channel'] ?? '');
      const credential = authorization.replace(/^Bearer /, '') || String(token ?? '');
      return { word: slackWord(credential, target), target, body: JSON.stringify(message) };
    },
  },
  {
    path: /^\/slack\/services\/(?:.*\/)?([^/]*)$/,
    channel: 'slack',
    format: slackWebhook,
    call: (word) => ({ word }),
  },
  {
    path: /^\/teams\/(.+)$/,
    channel: 'teams',
    // Power Automate answers 202 before the message is posted.
    format: plain({ status: 202, body: '' }),
    call: (word) => ({ word }),
  },
  {
    path: /^\/webhook\/(.+)$/,
    channel: 'webhook',
    format: plain({ status: 200, body: '{"received":true}' }),
    /** The header `webhook-id` of Standard Webhooks names the notification. */
    call(word, { headers: { 'webhook-id': id } }) {
      return { word, ...(typeof id === 'string' && { log_id: id }) };
    },
  },
];

/** The request as its provider reads it, and how that answers; undefined when nobody receives at this path. */
export function received(path: string, request: IncomingMessage, body: string) {
  for (const { path: pattern, channel, format, call } of RECEIVERS) {
    const match = request.method === 'POST' ? pattern.exec(path) : null;
    if (match === null) continue;
    const read: Call = { channel, target: path, body, ...call(match[1] ?? '', request, body) };
    return { call: read, format };
  }
  return undefined;
}

function slackWord(credential: string, channel: string): string {
  if (credential === '') return 'error-not_authed';
  return credential === REVOKED_TOKEN ? 'error-token_revoked' : channel.replace(/^#/, '');
}
