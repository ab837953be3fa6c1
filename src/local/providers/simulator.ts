import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpServer, sendJson, serve } from '../support/http-server.ts';
import { teamsCall, teamsVoice, webhookCall, webhookVoice } from './http-receivers.ts';
import type { ReceivedLog } from './received.ts';
import { type Call, respond, type Voice } from './respond.ts';
import { slackApiCall, slackApiVoice, slackWebhookCall, slackWebhookVoice } from './slack.ts';

/**
 * Slack, Teams and webhook receivers on one loopback server; script.ts tells how to make them fail.
 *
 * | request | plays |
 * |---|---|
 * | `POST /slack/api/chat.postMessage` | Slack's Web API; the channel's name is the script |
 * | `POST /slack/services/T…/B…/WORD` | a Slack incoming webhook |
 * | `POST /teams/WORD…` | a Teams Workflows webhook |
 * | `POST /webhook/WORD…` | a webhook receiver |
 * | `GET /_received?channel=&log_id=&accepted=` | what all of them, and the e-mail stand-in, received |
 * | `DELETE /_received` | forgets it |
 * | `PUT /_down/PATH` | from now on every request to a path that begins with `/PATH` is answered 503 |
 * | `DELETE /_down/PATH` | no more |
 */
export function startSimulator(received: ReceivedLog, port = 0): Promise<HttpServer> {
  const down = new Set<string>();
  return serve(
    (request, response, body) => route(request, response, body.toString(), received, down),
    port,
    'the simulator',
  );
}

const OUTAGES = '/_down';

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  received: ReceivedLog,
  down: Set<string>,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (url.pathname === '/_received') return inspect(request, response, url, received);
  if (url.pathname.startsWith(`${OUTAGES}/`)) return toggle(request, response, url, down);
  const match = request.method === 'POST' ? callOf(url.pathname, request, body) : undefined;
  if (match === undefined)
    return sendJson(response, 404, { message: `nothing plays ${request.method} ${url.pathname}` });
  const out = [...down].some((path) => url.pathname.startsWith(path));
  await respond(out ? { ...match.call, word: 'status-503' } : match.call, request, response, received, match.voice);
}

function toggle({ method }: IncomingMessage, response: ServerResponse, url: URL, down: Set<string>): void {
  const path = url.pathname.slice(OUTAGES.length);
  if (method === 'PUT') down.add(path);
  if (method === 'DELETE') down.delete(path);
  sendJson(response, 200, [...down]);
}

function callOf(path: string, request: IncomingMessage, body: string): { call: Call; voice: Voice } | undefined {
  const [, part, rest = ''] = /^\/([^/]+)\/(.+)$/.exec(path) ?? [];
  if (part === 'webhook') {
    const id = request.headers['webhook-id'];
    return { call: webhookCall(rest, typeof id === 'string' ? id : undefined, body), voice: webhookVoice };
  }
  if (part === 'teams') return { call: teamsCall(rest, body), voice: teamsVoice };
  if (path.startsWith('/slack/services/')) return { call: slackWebhookCall(path, body), voice: slackWebhookVoice };
  if (path === '/slack/api/chat.postMessage') {
    const { 'content-type': type = '', authorization = '' } = request.headers;
    return { call: slackApiCall(body, type, authorization), voice: slackApiVoice };
  }
  return undefined;
}

function inspect(request: IncomingMessage, response: ServerResponse, url: URL, received: ReceivedLog): void {
  if (request.method === 'DELETE') {
    received.clear();
    response.writeHead(204).end();
    return;
  }
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined;
  sendJson(
    response,
    200,
    received.list({ channel: parameter('channel'), log_id: parameter('log_id'), accepted: parameter('accepted') }),
  );
}
