import { gather } from '../../../src/adapters/batching/gather.ts';
import { INTAKE_ROUTES } from '../../../src/application/contract/api/notification-routes.ts';
import { batchItemKey, createIdentities } from '../../../src/application/requests/idempotency.ts';
import { readBatchItem, readFailure, readNotification } from '../../../src/application/requests/read-request.ts';
import { type Acceptance, accept, acceptBatch } from '../../../src/core/intake/accept.ts';
import type { NotificationRequest } from '../../../src/core/intake/notification-request.ts';
import type { IntakeDeps } from '../../../src/core/intake/ports.ts';
import { type ReportDeps, reportFailure } from '../../../src/core/intake/report-failure.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import { Problem, type ProblemName, problemDocument, unavailable } from '../../../src/core/model/problem.ts';
import type { QueuedMessage } from '../../../src/core/model/queue-message.ts';
import { readTraceparent, traceIdOf } from '../../../src/core/model/trace.ts';
import { type Reply, retryAfter } from '../../../src/http/kernel.ts';
import { count, countBy, type Observability } from '../runtime/observability.ts';
import { type ApiRequest, type ServedRoute, serve } from './api-function.ts';
import { checkSend } from './caller.ts';
import { logIdIn, statusUrl } from './notification-path.ts';

export interface IntakeRouteDeps extends Omit<IntakeDeps, 'records'>, ReportDeps {
  readonly send: SendMessages;
  /** The key of what identifies requests. */
  readonly hashKey: () => Promise<string>;
}

/** The routes by which producers hand over notifications, one or up to a hundred at a time, and report failed sends. */
export function intakeRoutes(deps: IntakeRouteDeps, { logger, metrics }: Observability): ServedRoute[] {
  const { sendAll, sendSoon } = createLaneSender(deps.send, logger);

  async function single({ caller, idempotency_key: key, headers, json }: ApiRequest): Promise<Reply> {
    const raw = json();
    const notification = traced(readNotification(raw, deps.clock(), deps.policy), headers);
    countRequests(metrics, 1);
    const { tenant_id, token } = caller;
    const { channel } = notification;
    if (token !== undefined) checkSend(token, notification);
    const { identify } = createIdentities(await deps.hashKey());
    const identity = identify(tenant_id, key, raw as object, token === undefined ? 'servers' : 'pages');
    const acceptance = await accept({ tenant_id, notification, ...identity }, deps).catch((error: unknown) => {
      if (error instanceof Problem) countOutcomes(metrics, [{ channel, outcome: error }]);
      throw error;
    });
    countOutcomes(metrics, [{ channel, outcome: acceptance }]);
    if (acceptance.message !== undefined) await sendAll([acceptance.message]);
    return answerOf(acceptance, notification);
  }

  async function batch(
    { caller, idempotency_key: key, headers }: ApiRequest,
    notifications: readonly unknown[],
  ): Promise<Reply> {
    const { identify } = createIdentities(await deps.hashKey());
    const items = notifications.map((raw, index) => {
      const item = readItem(raw, batchItemKey(key, index), deps);
      if (item instanceof Error) return item;
      const { request, ...read } = item;
      const { tenant_id } = caller;
      const identity = identify(tenant_id, read.idempotency_key, request);
      return { tenant_id, ...read, ...identity, notification: traced(item.notification, headers) };
    });
    countRequests(metrics, items.filter((item) => !(item instanceof Error)).length);
    const outcomes = await acceptBatch(items, {
      ...deps,
      send: sendSoon,
      onFaults: (errors) =>
        logger.error('batch failed on our side', {
          count: errors.length,
          of: items.length,
          error: errors[0] as Error,
        }),
    });
    const identified = outcomes.flatMap((outcome, index) => {
      const item = items[index];
      return item === undefined || item instanceof Error ? [] : [{ channel: item.notification.channel, outcome }];
    });
    countOutcomes(metrics, identified);
    const accepted = identified.flatMap(({ outcome }) => (outcome instanceof Problem ? [] : [outcome]));
    const repeats = accepted.filter(({ repeat }) => repeat).length;
    const isFault = (outcome: Acceptance | Problem) => outcome instanceof Problem && outcome.problem === 'unavailable';
    return {
      body: { results: outcomes.map((outcome, index) => ({ index, ...resultOf(outcome) })) },
      ...(outcomes.some(isFault) && { headers: retryAfter(unavailable()) }),
      log: { items: outcomes.length, accepted: accepted.length - repeats, repeats },
    };
  }

  return serve(INTAKE_ROUTES, {
    sendNotification: single,
    sendNotifications: (request) => batch(request, request.body().notifications),
    async reportFailure({ caller, path, json }) {
      const report = await reportFailure(logIdIn(path), caller.tenant_id, readFailure(json()), deps);
      if (report.message !== undefined) await sendAll([report.message]);
      return answerOf(report);
    },
  });
}

/** With its own traceparent or else that of the request's header. One that is malformed is no reason to refuse it. */
function traced(notification: NotificationRequest, headers: ApiRequest['headers']): NotificationRequest {
  const { traceparent: own, ...rest } = notification;
  const traceparent = readTraceparent(own) ?? readTraceparent(headers['traceparent']);
  return traceparent === undefined ? rest : { ...rest, traceparent };
}

function answerOf(acceptance: Acceptance, traced: Pick<NotificationRequest, 'traceparent'> = {}): Reply {
  const { log_id, repeat } = acceptance;
  return {
    body: acceptedBody(acceptance),
    log: { log_id, repeat, ...traceIdOf(traced) },
    ...(repeat && { headers: { 'idempotent-replayed': 'true' } }),
  };
}

const acceptedBody = ({ log_id, status }: Acceptance) => ({ log_id, status, status_url: statusUrl(log_id) });

function resultOf(outcome: Acceptance | Problem) {
  if (outcome instanceof Problem) {
    const problem = problemDocument(outcome);
    return { status: problem.status, problem };
  }
  const { log_id, status: notification_status, status_url } = acceptedBody(outcome);
  return { status: 202, log_id, notification_status, status_url, ...(outcome.repeat && { repeat: true }) };
}

/** An item that breaks rules becomes its Problem, which takes the item's place in the batch. */
function readItem(raw: unknown, defaultKey: string, { clock, policy }: IntakeRouteDeps) {
  try {
    const { notification, idempotency_key = defaultKey } = readBatchItem(raw, clock(), policy);
    const { idempotency_key: _, ...request } = raw as Readonly<Record<string, unknown>>;
    return { notification, idempotency_key, request };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Counts valid requests with an idempotency key, before they are accepted or refused. */
function countRequests(metrics: Observability['metrics'], requests: number): void {
  if (requests > 0) count(metrics, 'IdempotentRequests', requests);
}

/** Refusals of a request whose key an earlier one has. */
const REPEATS: readonly unknown[] = ['idempotency-key-reused', 'request-in-progress'] satisfies ProblemName[];

/** Counts what became of requests: repeats, refused ones too, and new notifications by channel. */
function countOutcomes(
  metrics: Observability['metrics'],
  outcomes: readonly { readonly channel: Channel; readonly outcome: Acceptance | Problem }[],
): void {
  const isRepeat = ({ outcome }: (typeof outcomes)[number]) =>
    outcome instanceof Problem ? REPEATS.includes(outcome.problem) : outcome.repeat;
  const repeats = outcomes.filter(isRepeat).length;
  if (repeats > 0) count(metrics, 'IdempotentRepeats', repeats);
  const created = outcomes.filter((one) => !(one.outcome instanceof Problem) && !one.outcome.repeat);
  for (const [channel, same] of Map.groupBy(created, (one) => one.channel)) {
    countBy(metrics, 'Accepted', { channel }, same.length);
  }
}

/** Sends messages to the lanes and returns those that could not be sent. */
export type SendMessages = (messages: readonly QueuedMessage[]) => Promise<readonly QueuedMessage[]>;

/** Milliseconds that a message waits for others, so that one call to SQS sends several. */
const BATCH_WAIT_MS = 20;
const MAX_MESSAGES = 100;

/** Sends the messages of accepted notifications. It never rejects: what SQS does not take now, the next sweep sends. */
function createLaneSender(send: SendMessages, logger: Observability['logger']) {
  async function sendAll(messages: readonly QueuedMessage[]): Promise<void> {
    const refused = await send(messages).catch((error: unknown) => {
      logger.warn('not queued; the next sweep finds them', { count: messages.length, error: error as Error });
      return [];
    });
    if (refused.length > 0) logger.warn('not queued; the next sweep finds them', { count: refused.length });
  }

  return {
    sendAll,
    /** Sends one message together with those that other items of a batch send at about the same time. */
    sendSoon: gather<QueuedMessage, void>(
      async (messages) => {
        await sendAll(messages);
        return messages.map(() => undefined);
      },
      { max: MAX_MESSAGES, wait_ms: BATCH_WAIT_MS },
    ),
  };
}
