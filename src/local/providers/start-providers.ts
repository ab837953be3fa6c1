import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type HttpServer, sendJson, serve } from '../../http/loopback-server.ts';
import type { Publish } from '../emulator/events/event-bus.ts';
import type { Ports } from '../processes/tcp-ports.ts';
import type { Teardown } from '../processes/teardown.ts';
import { BUS_IS_DOWN, EventBridgeStandIn } from '../stand-ins/eventbridge.ts';
import { ReceivedLog } from './received-log.ts';
import { received } from './receivers.ts';
import { respond } from './respond.ts';
import type { SesLimits } from './ses/sending-limits.ts';
import type { ConfigurationSets } from './ses/simulated-bulk.ts';
import { startSimulatedSes } from './ses/simulated-ses.ts';

export interface ProviderOptions {
  /** URL of the SES stand-in, which gets the e-mails. */
  readonly sesStandIn: string;
  readonly publish: Publish;
  readonly dataDir: string | undefined;
  /** What the local SES allows, in place of generous limits. */
  readonly sesLimits: Partial<SesLimits> | undefined;
  /** The configuration sets of the stack, with the kinds of events that each publishes. */
  readonly configurationSets: ConfigurationSets;
  readonly ports: Ports;
  readonly teardown: Teardown;
}

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
  const log = new ReceivedLog(dataDir === undefined ? undefined : join(dataDir, 'received.jsonl'));
  const bus = new EventBridgeStandIn(publish, dataDir === undefined ? undefined : join(dataDir, 'outcomes.jsonl'));
  const simulator = await startSimulator(log, await ports.simulator.take(), bus);
  teardown.add('simulator', () => simulator.close());
  const ses = await startSimulatedSes(sesStandIn, log, publish, {
    port: await ports.ses.take(),
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
export function startSimulator(log: ReceivedLog, port = 0, bus?: EventBridgeStandIn): Promise<HttpServer> {
  const down = new Set<string>();
  return serve(
    (request, response, body) => route(request, response, body.toString(), { log, down, bus }),
    port,
    'the simulator',
  );
}

const OUTAGES = '/_down';
const EVENTBRIDGE = '/eventbridge';
const OUTCOMES = '/outcomes';

interface Simulated {
  readonly log: ReceivedLog;
  readonly down: Set<string>;
  readonly bus: EventBridgeStandIn | undefined;
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  { log, down, bus }: Simulated,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (bus !== undefined && url.pathname === OUTCOMES && request.method === 'GET')
    return sendJson(response, 200, { outcomes: bus.list() });
  if (bus !== undefined && url.pathname.startsWith(EVENTBRIDGE)) {
    const { status, type, value } = isDown(url, down) ? BUS_IS_DOWN : bus.answer(request.headers['x-amz-target'], body);
    if (type !== undefined) response.setHeader('x-amzn-errortype', type);
    return sendJson(response, status, value);
  }
  if (url.pathname === '/_received') return inspect(request, response, url, log);
  if (url.pathname.startsWith(`${OUTAGES}/`)) return toggle(request, response, url, down);
  const match = received(url.pathname, request, body);
  if (match === undefined)
    return sendJson(response, 404, { message: `the simulator has no receiver for ${request.method} ${url.pathname}` });
  await respond(
    isDown(url, down) ? { ...match.call, word: 'status-503' } : match.call,
    request,
    response,
    log,
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

function inspect(request: IncomingMessage, response: ServerResponse, url: URL, log: ReceivedLog): void {
  if (request.method === 'DELETE') {
    log.clear();
    response.writeHead(204).end();
    return;
  }
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined;
  sendJson(
    response,
    200,
    log.list({ channel: parameter('channel'), log_id: parameter('log_id'), accepted: parameter('accepted') }),
  );
}
