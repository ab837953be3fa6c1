import type { Notification, Result } from './handover/notification.ts';
import { whyFailed } from './spool/durable-files.ts';

/**
 * Notifications that are neither handed over nor on disk, for example because the disk is full. Only the caller has
 * them. Sending them again is safe: the API recognises by their keys those that it may already have.
 */
export class NotHandedOverError extends Error {
  override readonly name = 'NotHandedOverError';
  // Private, so that no log of this error shows recipients and bodies.
  readonly #notifications: readonly (Notification | string)[];
  readonly #results: readonly (Result | undefined)[];

  constructor(
    notifications: readonly (Notification | string)[],
    results: readonly (Result | undefined)[],
    directory: string,
    cause: unknown,
  ) {
    super(
      `${notifications.length} notifications could neither be handed over nor be written to ${directory} ` +
        `(${whyFailed(cause)}). They are kept nowhere: make room, then send them again.`,
      { cause },
    );
    this.#notifications = notifications;
    this.#results = results;
  }

  /** As the caller gave them; a log_id if the caller reported only its failure. */
  get notifications(): readonly (Notification | string)[] {
    return this.#notifications;
  }

  /** A result per notification of the call, in their order; undefined for those that are kept nowhere. */
  get results(): readonly (Result | undefined)[] {
    return this.#results;
  }
}
