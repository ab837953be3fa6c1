import type { Channel, PerLane } from '../../core/model/channels.ts';
import type { RetryPolicy } from '../../core/model/retry-policy.ts';

/** Where a deployment's tables and queues are, for commands that work on it from outside. */
export interface Deployment {
  readonly tables: {
    readonly notification_log: string;
    readonly notification_content: string;
    readonly notification_retry_log: string;
    readonly pipeline_state: string;
    readonly api_keys: string;
  };
  readonly lane_queues: PerLane<string>;
  readonly dead_letter_queues: Readonly<Record<Channel, string>>;
  readonly sweep_interval_seconds: number;
  /** As deployed; a local runtime may run with a shorter base interval. */
  readonly retry_policy: RetryPolicy;
  /**
   * Key of the recipients' searchable hash (recipient-hash.ts); read when asked for.
   * @throws Error that says why it cannot be read.
   */
  readonly recipientHashKey: () => Promise<string>;
  /**
   * Waits, for ten seconds at most, until rows that were put before are in the work index; false when they are not, or
   * when that could not be found out. Only the local runtime can tell; on AWS the stream takes them in within a second
   * or so, and the next sweep finds what this one missed.
   */
  readonly caughtUp?: () => Promise<boolean>;
  /** Where the intake API is, where that is known. */
  readonly api?: string;
  /** For the SDK's clients; empty on AWS, where the standard chain decides. */
  readonly clients: {
    readonly dynamodb: ClientOptions;
    readonly sqs: ClientOptions;
  };
}

export interface ClientOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** A deployment that cannot be found; the message says what to do about it. */
export class DeploymentNotFoundError extends Error {
  override readonly name = 'DeploymentNotFoundError';
}
