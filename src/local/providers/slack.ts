import { isObject, type Json } from '../support/json.ts';
import type { Answer, Call, FormatAnswer } from './respond.ts';
import type { Refusal } from './scripted-answer.ts';

/** The simulated Slack accepts every token except this one. */
export const REVOKED_TOKEN = 'xoxb-revoked';

const WEB_API_ERROR: Readonly<Record<Refusal, string>> = {
  gone: 'is_archived',
  missing: 'channel_not_found',
  unauthorized: 'invalid_auth',
  forbidden: 'missing_scope',
  malformed: 'invalid_blocks',
};

/** `chat.postMessage`. The body is JSON or a form, because SDKs send both. */
export function slackApiCall(body: string, contentType: string, authorization: string): Call {
  const fields = contentType.includes('json') ? parsed(body) : Object.fromEntries(new URLSearchParams(body));
  const channel = isObject(fields) ? String(fields['channel'] ?? '') : '';
  const { token, ...message } = isObject(fields) ? fields : {};
  const credential = authorization.replace(/^Bearer /, '') || String(token ?? '');
  return { channel: 'slack', word: wordFor(credential, channel), target: channel, body: JSON.stringify(message) };
}

function wordFor(credential: string, channel: string): string {
  if (credential === '') return 'error-not_authed';
  return credential === REVOKED_TOKEN ? 'error-token_revoked' : channel.replace(/^#/, '');
}

/** Slack's Web API refuses with status 200 and an error code. */
export const slackApiAnswer: FormatAnswer = (scripted) => {
  switch (scripted.kind) {
    case 'accept':
      return json(200, { ok: true, channel: 'C0LOCAL', ts: `${(Date.now() / 1000).toFixed(6)}` });
    case 'status':
      return json(scripted.status, { ok: false, error: 'internal_error' });
    case 'limit':
      return limited(scripted.retryAfterSeconds, JSON.stringify({ ok: false, error: 'ratelimited' }));
    case 'refuse':
      return json(200, { ok: false, error: WEB_API_ERROR[scripted.why], ...NEEDED[scripted.why] });
    case 'error':
      return json(200, { ok: false, error: scripted.code });
  }
};

const NEEDED: Partial<Record<Refusal, object>> = { forbidden: { needed: 'chat:write', provided: 'channels:read' } };

/** `/slack/services/T…/B…/WORD` */
export function slackWebhookCall(path: string, body: string): Call {
  return { channel: 'slack', word: path.split('/').at(-1) ?? '', target: path, body };
}

/** Incoming webhooks answer with HTTP statuses and plain text. */
export const slackWebhookAnswer: FormatAnswer = (scripted) => {
  switch (scripted.kind) {
    case 'accept':
      return text(200, 'ok');
    case 'status':
      return text(scripted.status, 'rollup_error');
    case 'limit':
      return limited(scripted.retryAfterSeconds, 'rate_limited');
    case 'refuse':
      return WEBHOOK_REFUSAL[scripted.why];
    case 'error':
      return text(400, scripted.code);
  }
};

const WEBHOOK_REFUSAL: Readonly<Record<Refusal, Answer>> = {
  gone: text(410, 'channel_is_archived'),
  missing: text(404, 'channel_not_found'),
  unauthorized: text(403, 'invalid_token'),
  forbidden: text(403, 'action_prohibited'),
  malformed: text(400, 'invalid_payload'),
};

function parsed(body: string): Json {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

function json(status: number, value: object): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(value) };
}

function text(status: number, body: string): Answer {
  return { status, headers: { 'content-type': 'text/html' }, body };
}

function limited(seconds: number, body: string): Answer {
  return { status: 429, headers: { 'retry-after': String(seconds) }, body };
}
