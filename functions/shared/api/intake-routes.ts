import { logIdsOf, requestHash } from '../../../src/adapters/api/idempotency.ts';
import {
  check,
  readBatchItem,
  readFailure,
  readIdempotencyKey,
  readNotification,
} from '../../../src/adapters/api/read-request.ts';
import { batchSchema } from '../../../src/adapters/api/request-schemas.ts';
import { gather } from '../../../src/adapters/batching/gather.ts';
import { type Acceptance, accept } from '../../../src/core/intake/accept.ts';
import type { NotificationRequest } from '../../../src/core/intake/notification-request.ts';
import type { IntakeDeps } from '../../../src/core/intake/ports.ts';
import { Problem, problemDocument } from '../../../src/core/intake/problem.ts';
import { type ReportDeps, reportFailure } from '../../../src/core/intake/report-failure.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { QueuedMessage } from '../../../src/core/model/lanes.ts';
import { count, countBy } from '../runtime/count.ts';
import type { Observability } from '../runtime/middleware.ts';
import { type ApiAnswer, type ApiRequest, type Routes, retryAfter, unavailable } from './api-function.ts';
import { logIdIn, statusUrl } from './notification-path.ts';

export interface IntakeRouteDeps extends Omit<IntakeDeps, 'records'>, ReportDeps {
  /** Gives back what could not be sent; a sweep finds it. */
  readonly send: (messages: readonly QueuedMessage[]) => Promise<readonly QueuedMessage[]>;
}

/** One body of 256 KB whose every character is escaped in JSON would have six times as many bytes. */
const MAX_SINGLE_BYTES = 1024 * 1024;
/** A Lambda function takes 6 MB, its envelope included. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

const MAX_REPORT_BYTES = 32 * 1024;

/** Between a batch's key and an item's place, so that no key of another request is the same. */
const KEY_SEPARATOR = ' ';

interface Item {
  readonly key: string;
  readonly notification: NotificationRequest;
  /** What the key stands for: the request without the key itself. */
  readonly raw: unknown;
}

/** Handing notifications over, singly or by the hundred. */
export function intakeRoutes(deps: IntakeRouteDeps, { logger, metrics }: Observability): Routes {
  /** @param accepted the channels of what was new, one entry each */
  async function take({ caller }: ApiRequest, { key, notification, raw }: Item, accepted: Channel[]) {
    count(metrics, 'IdempotentRequests');
    const acceptance = await accept(
      {
        tenant_id: caller.tenant_id,
        notification,
        request_hash: requestHash(raw),
        logId: logIdsOf(caller.tenant_id, key),
      },
      deps,
    );
    if (acceptance.repeat) count(metrics, 'IdempotentRepeats');
    else accepted.push(notification.channel);
    return acceptance;
  }

  function countAccepted(channels: readonly Channel[]): void {
    for (const [channel, same] of Map.groupBy(channels, (one) => one)) {
      countBy(metrics, 'Accepted', { channel }, same.length);
    }
  }

  /** What cannot be queued now is due in the work index: the answer stays the same. */
  async function sendAll(messages: readonly QueuedMessage[]): Promise<void> {
    const refused = await deps.send(messages).catch((error: unknown) => {
      logger.warn('not queued; the next sweep finds them', { count: messages.length, error: error as Error });
      return [];
    });
    if (refused.length > 0) logger.warn('not queued; the next sweep finds them', { count: refused.length });
  }

  /** For an item of a batch: it does not wait for those that storage keeps waiting, only a moment for company. */
  const sendSoon = gather<QueuedMessage, void>(
    async (messages) => {
      await sendAll(messages);
      return messages.map(() => undefined);
    },
    { max: 100, wait_ms: 20 },
  );

  async function takeItem(request: ApiRequest, item: Item, accepted: Channel[]): Promise<Acceptance> {
    const acceptance = await take(request, item, accepted);
    if (acceptance.message !== undefined) await sendSoon(acceptance.message);
    return acceptance;
  }

  async function one(request: ApiRequest): Promise<ApiAnswer> {
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    const raw = request.json();
    const accepted: Channel[] = [];
    const acceptance = await take(
      request,
      { key, raw, notification: readNotification(raw, deps.clock(), deps.policy) },
      accepted,
    );
    countAccepted(accepted);
    if (acceptance.message !== undefined) await sendAll([acceptance.message]);
    return answerOf(acceptance);
  }

  async function batch(request: ApiRequest): Promise<ApiAnswer> {
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    const { notifications } = check(batchSchema, request.json());
    const items = notifications.map((raw, index) =>
      attempt(() => readItem(raw, `${key}${KEY_SEPARATOR}${index}`, deps)),
    );
    const outcomes: (Acceptance | Error)[] = [];
    const accepted: Channel[] = [];
    const byKey = Map.groupBy(items.entries(), ([index, item]) => (item instanceof Error ? index : item.key));
    // Items of the same key one after the other: the second is a repeat, not a request in progress.
    await Promise.all(
      [...byKey.values()].map(async (same) => {
        for (const [index, item] of same) {
          outcomes[index] = item instanceof Error ? item : await takeItem(request, item, accepted).catch(toError);
        }
      }),
    );
    const acceptances = outcomes.flatMap((outcome) => (outcome instanceof Error ? [] : outcome));
    countAccepted(accepted);
    const failed = outcomes.filter((outcome) => outcome instanceof Error && !(outcome instanceof Problem));
    const [error] = failed;
    if (error instanceof Error) {
      logger.error('batch failed on our side', { count: failed.length, of: outcomes.length, error });
      if (failed.length === outcomes.length) throw unavailable();
    }
    const results = outcomes.map((outcome, index) => ({ index, ...resultOf(outcome) }));
    return {
      status: 200,
      body: { results },
      ...(failed.length > 0 && { headers: retryAfter(unavailable()) }),
      log: { items: results.length, accepted: accepted.length, repeats: acceptances.length - accepted.length },
    };
  }

  async function failure(request: ApiRequest): Promise<ApiAnswer> {
    const log_id = logIdIn(request.path);
    const report = await reportFailure(log_id, request.caller.tenant_id, readFailure(request.json()), deps);
    if (report.message !== undefined) await sendAll([report.message]);
    return answerOf(report);
  }

  return {
    'POST /v1/notifications/{log_id}/failures': { scope: 'send', max_bytes: MAX_REPORT_BYTES, handle: failure },
    'POST /v1/notifications': { scope: 'send', max_bytes: MAX_SINGLE_BYTES, handle: one },
    'POST /v1/notifications/batch': { scope: 'send', max_bytes: MAX_BATCH_BYTES, handle: batch },
  };
}

function answerOf(acceptance: Acceptance): ApiAnswer {
  const { log_id, repeat } = acceptance;
  return {
    status: 202,
    body: acceptedBody(acceptance),
    log: { log_id, repeat },
    ...(repeat && { headers: { 'idempotent-replayed': 'true' } }),
  };
}

function acceptedBody({ log_id, status }: Acceptance) {
  return { log_id, status, status_url: statusUrl(log_id) };
}

function readItem(raw: unknown, standardKey: string, { clock, policy }: IntakeRouteDeps): Item {
  const { notification, idempotency_key } = readBatchItem(raw, clock(), policy);
  const { idempotency_key: _, ...rest } = raw as Readonly<Record<string, unknown>>;
  return { key: idempotency_key ?? standardKey, notification, raw: rest };
}

function resultOf(outcome: Acceptance | Error) {
  if (!(outcome instanceof Error)) {
    const { log_id, status: notification_status, status_url } = acceptedBody(outcome);
    return { status: 202, log_id, notification_status, status_url, ...(outcome.repeat && { repeat: true }) };
  }
  const problem = problemDocument(outcome instanceof Problem ? outcome : unavailable());
  return { status: problem.status, problem };
}

function attempt<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    return toError(error);
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
