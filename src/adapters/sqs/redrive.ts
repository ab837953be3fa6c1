/** How far a redrive has come. */
export interface RedriveProgress {
  readonly moved: number;
  /** As counted when it began; SQS counts roughly. */
  readonly total?: number;
}

export interface RedriveOptions {
  /** Messages a second; absent: as fast as possible. */
  readonly rate?: number;
  readonly pause: (ms: number) => Promise<void>;
  readonly onProgress?: (progress: RedriveProgress) => void;
}

export interface RedriveResult {
  readonly moved: number;
  /** Messages that stay in the dead-letter queue, as they are not ours. */
  readonly unreadable: number;
  /** Messages that somebody holds all the time, so that they could not be moved. */
  readonly held: number;
}

/** Someone else's redrive of the queue is under way: SQS allows one at a time. */
export class RedriveRunningError extends Error {
  override readonly name = 'RedriveRunningError';
}

/** A redrive that ended before everything was moved; what was not moved is still in the dead-letter queue. */
export class RedriveFailedError extends Error {
  override readonly name = 'RedriveFailedError';
}
