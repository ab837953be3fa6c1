import type { Notification, Result } from './handover/notification.ts';
import { whyFailed } from './spool/durable-files.ts';

/**
 * Neither handed over nor on disk (a full disk, say): these notifications are still yours, and only yours.
 * Asking again is safe: what the API may have got already has the same key.
 */
export class NotHandedOverError extends Error {
  override readonly name = 'NotHandedOverError';
  // Private, so that no log or stack trace of this error shows recipients and bodies.
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

  /** As they were given; a log_id where only its failure was reported. */
  get notifications(): readonly (Notification | string)[] {
    return this.#notifications;
  }

  /** For each notification that was given, in that order: its result, or undefined when it is among those. */
  get results(): readonly (Result | undefined)[] {
    return this.#results;
  }
}
