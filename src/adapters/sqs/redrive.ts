/** The progress of a redrive. */
export interface RedriveProgress {
  readonly moved: number;
  /** The number of messages when the redrive began, as SQS estimates it. */
  readonly total?: number;
}

export interface RedriveOptions {
  /** Messages per second; as fast as possible unless given. */
  readonly rate?: number;
  readonly pause: (ms: number) => Promise<void>;
  readonly onProgress?: (progress: RedriveProgress) => void;
}

export interface RedriveResult {
  readonly moved: number;
  /** Messages that stay in the dead-letter queue, because they are not messages of the lanes. */
  readonly unreadable: number;
  /** Messages that could not be moved, because another consumer held them all the time. */
  readonly held: number;
}

/** Another redrive of the queue is running. SQS allows one at a time. */
export class RedriveRunningError extends Error {
  override readonly name = 'RedriveRunningError';
}

/** The redrive ended early. All messages that it did not move are still in the dead-letter queue. */
export class RedriveFailedError extends Error {
  override readonly name = 'RedriveFailedError';
}
