import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type HttpServer, sendJson, serve } from '../../http/loopback-server.ts';
import type { Publish } from '../emulator/events/event-bus.ts';
import type { Ports } from '../processes/tcp-ports.ts';
import type { Teardown } from '../processes/teardown.ts';
import { BUS_IS_DOWN, EventBridgeStandIn } from '../stand-ins/eventbridge.ts';
import { ReceivedLog } from './received-log.ts';
import { type Answer, type Call, type FormatAnswer, respond } from './respond.ts';
import { statusOf } from './scripted-answer.ts';
import type { SesLimits } from './ses/sending-limits.ts';
import type { ConfigurationSets } from './ses/simulated-bulk.ts';
import { startSimulatedSes } from './ses/simulated-ses.ts';
import { slackApiAnswer, slackApiCall, slackWebhookAnswer, slackWebhookCall } from './slack.ts';

export interface ProviderOptions {
  /** URL of the SES stand-in, which gets the e-mails. */
  readonly sesStandIn: string;
  /** Takes the events of the e-mails. */
  readonly publish: Publish;
  readonly dataDir: string | undefined;
  /** What the local SES allows, in place of generous limits. */
  readonly sesLimits: Partial<SesLimits> | undefined;
  /** The configuration sets of the stack, with the kinds of events that each publishes. */
  readonly configurationSets: ConfigurationSets;
  readonly ports: Ports;
  readonly teardown: Teardown;
}

/** URLs of the simulated providers. */
export interface Providers {
  readonly simulator: string;
  readonly ses: string;
  readonly eventbridge: string;
  /** Lists what was put on EventBridge's buses. */
  readonly outcomes: string;
}

export async function startProviders({
  sesStandIn,
  publish,
  dataDir,
  sesLimits,
  configurationSets,
  ports,
  teardown,
}: ProviderOptions): Promise<Providers> {
  const received = new ReceivedLog(dataDir === undefined ? undefined : join(dataDir, 'received.jsonl'));
  const bus = new EventBridgeStandIn(publish, dataDir === undefined ? undefined : join(dataDir, 'outcomes.jsonl'));
  const simulator = await startSimulator(received, ports.simulator, bus);
  teardown.add('simulator', () => simulator.close());
  const ses = await startSimulatedSes(sesStandIn, received, publish, {
    port: ports.ses,
    limits: sesLimits ?? {},
    configurationSets,
    bulkFile: dataDir === undefined ? undefined : join(dataDir, 'newsletter-mails.jsonl'),
  });
  teardown.add('simulated SES', () => ses.close());
  const { url } = simulator;
  return { simulator: url, ses: ses.url, eventbridge: `${url}${EVENTBRIDGE}`, outcomes: `${url}${OUTCOMES}` };
}

/**
 * Simulated Slack, Teams and webhook receivers on one loopback server. scripted-answer.ts describes how to make them
 * fail.
 *
 * | request | effect |
 * |---|---|
 * | `POST /slack/api/chat.postMessage` | Slack's Web API; the channel's name is the word |
 * | `POST /slack/services/T…/B…/WORD` | a Slack incoming webhook |
 * | `POST /teams/WORD…` | a Teams Workflows webhook |
 * | `POST /webhook/WORD…` | a webhook receiver |
 * | `GET /_received?channel=&log_id=&accepted=` | the requests that all simulated providers received, e-mail too |
 * | `DELETE /_received` | empties the list |
 * | `PUT /_down/PATH` | every request to a path that begins with `/PATH` is answered 503 from now on |
 * | `DELETE /_down/PATH` | ends that outage |
 * | `POST /eventbridge` | EventBridge's PutEvents: `PUT /_down/eventbridge` makes the bus refuse |
 * | `GET /outcomes` | what was put on the buses |
 */
export function startSimulator(received: ReceivedLog, port = 0, bus?: EventBridgeStandIn): Promise<HttpServer> {
  const down = new Set<string>();
  return serve(
    (request, response, body) => route(request, response, body.toString(), { received, down, bus }),
    port,
    'the simulator',
  );
}

const OUTAGES = '/_down';
const EVENTBRIDGE = '/eventbridge';
const OUTCOMES = '/outcomes';

interface Simulated {
  readonly received: ReceivedLog;
  readonly down: Set<string>;
  readonly bus: EventBridgeStandIn | undefined;
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  { received, down, bus }: Simulated,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (bus !== undefined && url.pathname === OUTCOMES && request.method === 'GET')
    return sendJson(response, 200, { outcomes: bus.list() });
  if (bus !== undefined && url.pathname.startsWith(EVENTBRIDGE)) {
    const { status, type, value } = isDown(url, down) ? BUS_IS_DOWN : bus.answer(request.headers['x-amz-target'], body);
    if (type !== undefined) response.setHeader('x-amzn-errortype', type);
    return sendJson(response, status, value);
  }
  if (url.pathname === '/_received') return inspect(request, response, url, received);
  if (url.pathname.startsWith(`${OUTAGES}/`)) return toggle(request, response, url, down);
  const match = request.method === 'POST' ? callOf(url.pathname, request, body) : undefined;
  if (match === undefined)
    return sendJson(response, 404, { message: `the simulator has no receiver for ${request.method} ${url.pathname}` });
  await respond(
    isDown(url, down) ? { ...match.call, word: 'status-503' } : match.call,
    request,
    response,
    received,
    match.format,
  );
}

function isDown({ pathname }: URL, down: ReadonlySet<string>): boolean {
  return [...down].some((path) => pathname.startsWith(path));
}

function toggle({ method }: IncomingMessage, response: ServerResponse, url: URL, down: Set<string>): void {
  const path = url.pathname.slice(OUTAGES.length);
  if (method === 'PUT') down.add(path);
  if (method === 'DELETE') down.delete(path);
  sendJson(response, 200, [...down]);
}

function callOf(
  path: string,
  request: IncomingMessage,
  body: string,
): { call: Call; format: FormatAnswer } | undefined {
  const [, part, rest = ''] = /^\/([^/]+)\/(.+)$/.exec(path) ?? [];
  if (part === 'webhook') {
    const id = request.headers['webhook-id'];
    return { call: webhookCall(rest, typeof id === 'string' ? id : undefined, body), format: webhookAnswer };
  }
  if (part === 'teams') return { call: teamsCall(rest, body), format: teamsAnswer };
  if (path.startsWith('/slack/services/')) return { call: slackWebhookCall(path, body), format: slackWebhookAnswer };
  if (path === '/slack/api/chat.postMessage') {
    const { 'content-type': type = '', authorization = '' } = request.headers;
    return { call: slackApiCall(body, type, authorization), format: slackApiAnswer };
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

/** `/teams/WORD…`, a Workflows webhook. */
function teamsCall(path: string, body: string): Call {
  return { channel: 'teams', word: path, target: `/teams/${path}`, body };
}

/** Power Automate answers 202 before the message is posted. */
const teamsAnswer = plainAnswer({ status: 202, body: '' });

/** `/webhook/WORD…`. The header `webhook-id` of Standard Webhooks names the notification. */
function webhookCall(path: string, id: string | undefined, body: string): Call {
  const target = `/webhook/${path}`;
  return { channel: 'webhook', word: path, target, body, ...(id === undefined ? {} : { log_id: id }) };
}

const webhookAnswer = plainAnswer({ status: 200, body: '{"received":true}' });

/** Answers of a receiver that has no protocol of its own beyond HTTP statuses. */
function plainAnswer(accepted: Answer): FormatAnswer {
  return (scripted) => {
    switch (scripted.kind) {
      case 'accept':
        return accepted;
      case 'status':
        return { status: scripted.status, body: `status ${scripted.status}, as asked` };
      case 'limit':
        return {
          status: 429,
          headers: { 'retry-after': String(scripted.retryAfterSeconds) },
          body: 'too many requests',
        };
      case 'refuse':
        return { status: statusOf(scripted.why), body: scripted.why };
      case 'error':
        return { status: 400, body: JSON.stringify({ error: { code: scripted.code, message: 'as asked' } }) };
    }
  };
}
