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

/** Another process works on the spool. */
export class SpoolLockedError extends Error {
  override readonly name = 'SpoolLockedError';
  /** Undefined when it is not known. */
  readonly pid: number | undefined;

  constructor(directory: string, pid: number | undefined, host: string | undefined) {
    const holder = pid === undefined ? 'another process' : `pid ${pid}${host ? ` on ${host}` : ''}`;
    super(`The spool ${directory} is locked by ${holder}, which is at work on it: wait for its end, then try again.`);
    this.pid = pid;
  }
}
