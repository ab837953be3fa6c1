import { guardCallback } from './guard-callback.ts';
import type { Ask } from './handover/api.ts';
import { BATCH_LIMIT } from './handover/api.ts';
import { type HandOverOptions, handOver, type Line, newLine } from './handover/hand-over.ts';
import { failureItem, type Item, notificationItem } from './handover/item.ts';
import type { BatchNotification, FailedAttempt, Notification, Result } from './handover/notification.ts';
import { type HandoverOutcome, unanswered } from './handover/retry-rules.ts';
import { NotHandedOverError } from './not-handed-over-error.ts';
import type { Settings } from './settings.ts';
import type { FileSystem } from './spool/durable-files.ts';
import { type FlushOptions, type FlushReport, flushSpool } from './spool/flush.ts';
import type { Spool } from './spool/spool.ts';
import { lockSpool } from './spool/spool-lock.ts';

export interface SendOptions {
  readonly signal?: AbortSignal;
}

/** Notifications. */
export interface BatchProgress {
  readonly done: number;
  readonly total: number;
  readonly accepted: number;
  readonly spooled: number;
  readonly refused: number;
}

/**
 * Hands notifications over to the API, and keeps on disk what it cannot hand over. When one of its methods returns, the
 * API or the disk has the notification, or the API has refused it for good. An aborted signal stops asking, not keeping.
 *
 * The same content has the same idempotency key: sent twice within 72 hours, by a restarted producer say, it goes out
 * once. Two notifications that are meant to be equal need a `notification_id` or a key of their own.
 */
export interface NotificationClient {
  /**
   * @throws NotHandedOverError when neither the API nor the disk takes it
   * @throws TypeError when it is not JSON, or the key none
   */
  send(notification: Notification, options?: SendOptions & { readonly idempotencyKey?: string }): Promise<Result>;
  /**
   * Any number, a hundred a request; what is left of a hundred is spooled as one file. An `onProgress` that fails is
   * told of by a warning and not called again.
   * @returns a result for each, in their order
   * @throws NotHandedOverError with the results of the others, when all have been tried
   */
  sendBatch(
    notifications: readonly BatchNotification[],
    options?: SendOptions & { readonly onProgress?: (progress: BatchProgress) => void },
  ): Promise<Result[]>;
  /**
   * Leaves a send that failed in your own hands to the retries: a notification that the API has not seen, or the log_id
   * of one that it has. Each call is a failed send of its own, unless `attempted_at` says that it is the same.
   * @throws as `send`
   */
  reportFailure(
    notification: BatchNotification | string,
    failure: FailedAttempt,
    options?: SendOptions,
  ): Promise<Result>;
  /**
   * Hands over what is in the spool, the oldest first.
   * @throws SpoolLockedError when another process is at it
   */
  flush(options?: FlushOptions): Promise<FlushReport>;
}

export interface ClientPorts extends Omit<HandOverOptions, 'ask'> {
  readonly ask: Ask;
  readonly spool: Spool;
  readonly fs: FileSystem;
}

interface Delivered {
  /** Undefined where neither the API nor the disk took it. */
  readonly results: readonly (Result | undefined)[];
  /** Why the disk did not. */
  readonly cause?: unknown;
}

export function createClient(settings: Settings, ports: ClientPorts): NotificationClient {
  const { spool, clock, fs } = ports;

  /** Hands over up to a batch of items and spools what is left. */
  async function deliver(items: readonly Item[], line: Line, signal?: AbortSignal): Promise<Delivered> {
    const started = clock();
    const verdicts = await handOver(items, ports, line, signal).catch((error: Error) =>
      // A defect of ours loses nothing either.
      items.map(() => unanswered(error.name)),
    );
    const left = items.filter((_, i) => verdicts[i]?.state === 'later');
    const reason = reasonOf(verdicts);
    if (reason === undefined) return { results: verdicts.map((verdict) => resultOf(verdict, undefined)) };
    try {
      const file = await spool.add(left, started, reason);
      return { results: verdicts.map((verdict) => resultOf(verdict, file)) };
    } catch (cause) {
      return { results: verdicts.map((verdict) => resultOf(verdict, undefined)), cause };
    }
  }

  async function deliverOne(item: Item, given: Notification | string, signal?: AbortSignal): Promise<Result> {
    const { results, cause } = await deliver([item], newLine(), signal);
    const [result] = results;
    if (result === undefined) throw new NotHandedOverError([given], results, settings.spoolDirectory, cause);
    return result;
  }

  return {
    async send(notification, { signal, idempotencyKey } = {}) {
      return deliverOne(notificationItem(notification, idempotencyKey), notification, signal);
    },

    async sendBatch(notifications, { signal, onProgress } = {}) {
      const items = notifications.map((notification) => notificationItem(notification));
      const results: (Result | undefined)[] = Array.from(items, () => undefined);
      const report = onProgress && guardCallback(onProgress);
      const progress = { done: 0, total: items.length, accepted: 0, spooled: 0, refused: 0 };
      const line = newLine();
      const starts = Array.from({ length: Math.ceil(items.length / BATCH_LIMIT) }, (_, i) => i * BATCH_LIMIT).values();
      let cause: unknown;
      const work = async () => {
        for (const start of starts) {
          const delivered = await deliver(items.slice(start, start + BATCH_LIMIT), line, signal);
          cause ??= delivered.cause;
          delivered.results.forEach((result, i) => {
            results[start + i] = result;
            if (result) progress[result.state]++;
          });
          progress.done += delivered.results.length;
          report?.({ ...progress });
        }
      };
      await Promise.all(Array.from({ length: settings.concurrency }, work));
      const lost = notifications.filter((_, i) => results[i] === undefined);
      if (lost.length > 0) throw new NotHandedOverError(lost, results, settings.spoolDirectory, cause);
      return results.filter((result) => result !== undefined);
    },

    async reportFailure(notification, failure, { signal } = {}) {
      if (typeof notification === 'string') {
        return deliverOne(failureItem(notification, failure, clock()), notification, signal);
      }
      return deliverOne(notificationItem({ ...notification, failed_attempt: failure }), notification, signal);
    },

    async flush({ onProgress, ...options } = {}) {
      const release = await lockSpool(settings.spoolDirectory, { fs });
      try {
        const { maxRetries, retentionMs, onGivenUp } = settings;
        return await flushSpool(
          { ...ports, maxRetries, retentionMs, tell: onGivenUp },
          { ...options, ...(onProgress && { onProgress: guardCallback(onProgress) }) },
        );
      } finally {
        await release();
      }
    },
  };
}

/** Of what is left; undefined when nothing is. */
function reasonOf(verdicts: readonly HandoverOutcome[]): string | undefined {
  for (const verdict of verdicts) if (verdict.state === 'later') return verdict.reason;
  return undefined;
}

function resultOf(verdict: HandoverOutcome, file: string | undefined): Result | undefined {
  if (verdict.state !== 'later') return verdict;
  return file === undefined ? undefined : { state: 'spooled', file, reason: verdict.reason };
}
