import {
  type BatchProgress,
  type HandOverOrSpoolPorts,
  handOverOrSpool,
  NotHandedOverError,
  sendInBatches,
} from './hand-over-or-spool.ts';
import type { PageToken, TokenRequest } from './handover/api-request.ts';
import { newApiState } from './handover/hand-over.ts';
import { failureItem, type Item, itemOrRefusal, notificationItem } from './handover/item.ts';
import type { BatchNotification, FailedAttempt, Notification, Result } from './handover/notification.ts';
import type { Settings } from './settings.ts';
import type { FileSystem } from './spool/durable-files.ts';
import { type FlushOptions, type FlushReport, flushSpool } from './spool/flush.ts';
import { lockSpool } from './spool/spool-lock.ts';

export interface SendOptions {
  readonly signal?: AbortSignal;
}

/**
 * Hands notifications over to the API, and keeps on disk those that it cannot hand over. When a method returns, the API
 * or the disk has the notification, or the API has refused it for good. An aborted signal ends the requests; the
 * notifications are still kept.
 *
 * The same content has the same idempotency key. If a restarted producer sends a notification again within 72 hours,
 * the recipient gets it once. Two notifications with the same content need a `notification_id` or a key of their own.
 */
export interface NotificationClient {
  /**
   * @throws NotHandedOverError if neither the API nor the disk takes the notification
   * @throws TypeError if the notification is not JSON, or the key is not valid
   */
  send(notification: Notification, options?: SendOptions & { readonly idempotencyKey?: string }): Promise<Result>;
  /**
   * Sends any number of notifications, 100 per request. Of each 100, those that are not handed over are spooled as one
   * file. One that is not JSON, or whose key is not valid, is `refused`, and the others are sent. An `onProgress` that fails causes a warning and is not called again.
   * @returns a result per notification, in their order
   * @throws NotHandedOverError with the results of the others, after all have been tried
   */
  sendBatch(
    notifications: readonly BatchNotification[],
    options?: SendOptions & { readonly onProgress?: (progress: BatchProgress) => void },
  ): Promise<Result[]>;
  /**
   * Reports an attempt of your own that failed, so that the pipeline retries the notification.
   * @param notification one that the API does not have, or the log_id of one that it has
   * @param failure a failed attempt of its own, unless a report with the same `attempted_at` was made before
   * @throws as `send`
   */
  reportFailure(
    notification: BatchNotification | string,
    failure: FailedAttempt,
    options?: SendOptions,
  ): Promise<Result>;
  /**
   * Gets a short-lived token for a web page, which may do no more than it says: send, or see and retry these log_ids.
   * The API key needs the scopes for that: `send`, or `read` and `operate`.
   * @throws Error if the API gives none; the page asks again
   */
  createToken(request: TokenRequest): Promise<PageToken>;
  /** Hands over the spool, the oldest first. @throws SpoolLockedError if another process works on it */
  flush(options?: FlushOptions): Promise<FlushReport>;
}

/** @internal */
export interface ClientPorts extends HandOverOrSpoolPorts {
  readonly fs: FileSystem;
  readonly createToken: NotificationClient['createToken'];
}

/** @internal */
export function createClient(settings: Settings, ports: ClientPorts): NotificationClient {
  const { clock, fs } = ports;

  async function sendOne(item: Item, given: Notification | string, signal?: AbortSignal): Promise<Result> {
    const { results, cause } = await handOverOrSpool([item], ports, newApiState(), signal);
    const [result] = results;
    if (result === undefined) throw new NotHandedOverError([given], results, settings.spoolDirectory, cause);
    return result;
  }

  return {
    async send(notification, { signal, idempotencyKey } = {}) {
      return sendOne(notificationItem(notification, idempotencyKey), notification, signal);
    },

    async sendBatch(notifications, { signal, onProgress } = {}) {
      const items = Array.from(notifications, itemOrRefusal);
      const report = onProgress && guardCallback(onProgress);
      const { results, cause } = await sendInBatches(items, ports, settings.concurrency, { signal, report });
      const lost = notifications.filter((_, i) => results[i] === undefined);
      if (lost.length > 0) throw new NotHandedOverError(lost, results, settings.spoolDirectory, cause);
      return results.filter((result) => result !== undefined);
    },

    async reportFailure(notification, failure, { signal } = {}) {
      if (typeof notification === 'string') {
        return sendOne(failureItem(notification, failure, clock()), notification, signal);
      }
      return sendOne(notificationItem({ ...notification, failed_attempt: failure }), notification, signal);
    },

    createToken: ports.createToken,

    async flush({ onProgress, ...options } = {}) {
      const release = await lockSpool(settings.spoolDirectory, { fs });
      try {
        const { maxRetries, retentionMs, onGivenUp, onLargeSpool } = settings;
        return await flushSpool(
          { ...ports, maxRetries, retentionMs, onGivenUp, onLargeSpool: guardCallback(onLargeSpool) },
          { ...options, ...(onProgress && { onProgress: guardCallback(onProgress) }) },
        );
      } finally {
        await release();
      }
    },
  };
}

/**
 * Protects the client from a callback that fails. At the first failure, a rejected promise included, the process emits
 * a warning and the callback is not called again.
 */
function guardCallback<T>(callback: (given: T) => unknown): (given: T) => void {
  let failed = false;
  const fail = (error: unknown) => {
    if (!failed) process.emitWarning(`A callback of the notification client failed and is not called again: ${error}`);
    failed = true;
  };
  return (given) => {
    if (failed) return;
    try {
      const returned = callback(given);
      if (returned instanceof Promise) returned.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}
