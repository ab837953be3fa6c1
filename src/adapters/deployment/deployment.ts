import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Channel, StageLanes } from '../../core/model/channels.ts';
import { ExplainedError } from '../../core/model/problem.ts';
import type { RetryPolicy } from '../../core/model/retry-policy.ts';
import type { MetricHistory } from '../../core/operator/views/outcome-series.ts';
import type { Sealer } from '../sealing/sealer.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import type { TableNames } from './stage-parts.ts';

/**
 * Where the tables and queues of a deployment are, for commands that work on it from outside. To read what the stage does
 * without throws a Problem that says so (stage-parts.ts).
 */
export interface Deployment {
  readonly tables: TableNames;
  readonly lane_queues: StageLanes<string>;
  readonly newsletter_queues: { readonly prepare: string; readonly send: string };
  readonly dead_letter_queues: Readonly<Record<Channel, string>>;
  readonly sweep_interval_seconds: number;
  /** The policy as deployed. A local runtime may run with a shorter base interval. */
  readonly retry_policy: RetryPolicy;
  /** The configuration set of newsletters that tracks opens and clicks. Absent: no newsletters, or deployed before. */
  readonly newsletter_configuration_set?: string | undefined;
  /** How long a recipient must have been uncertain before `resend` takes it. Absent: deployed before it was set. */
  readonly uncertain_minutes?: number | undefined;
  /** A tenant without senders of its own publishes nothing. Absent: it may, as the stage lets it. */
  readonly own_senders_only?: boolean | undefined;
  readonly require_address?: boolean | undefined;
  /** Batches of an email at once. Absent: deployed before operators needed it. */
  readonly batch_concurrency?: number | undefined;
  /** The key of recipientHash. @throws Error that says why it cannot be read */
  readonly recipientHashKey: () => Promise<string>;
  /** Seals and opens what identifies people, with data keys that the given client reads and writes. */
  readonly sealer: (dynamodb: DynamoDBClient) => Sealer;
  /** The secrets of a channel's integrations, to ask whose they are. */
  readonly integrations: (channel: Channel) => Promise<Pick<IntegrationCredentials, 'load'>>;
  /**
   * Waits at most ten seconds until the rows that were put before are in the work index. False when some are not, or
   * when the runtime did not say. Only the local runtime can tell. On AWS the indexer adds rows within about a
   * second, and the next sweep finds what this one missed.
   */
  readonly caughtUp?: () => Promise<boolean>;
  /** Who works on it, by the account's own word; absent at the local runtime, where it is the user of the machine. */
  readonly operator?: () => Promise<string>;
  /** Name of the function that `ops reconcile` invokes; absent from a stack that was deployed before it. */
  readonly reconciler?: string;
  /** Name of the event bus of outcomes; absent in a stage without them. */
  readonly outcomes_bus?: string;
  /** File with the credentials of the integrations; absent on AWS, where Secrets Manager has them. */
  readonly secrets_file?: string;
  /** What the functions have measured. @throws HistoryUnavailableError */
  readonly metricHistory: () => Promise<MetricHistory>;
  /** The URL of the intake API, if known. */
  readonly api?: string;
  /** Options of the SDK's clients; empty on AWS, where the SDK's own defaults apply. */
  readonly clients: {
    readonly dynamodb: ClientOptions;
    readonly sqs: ClientOptions;
    readonly lambda?: ClientOptions;
    readonly ses?: ClientOptions;
    readonly eventbridge?: ClientOptions;
  };
}

interface ClientOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** The deployment was not found. The message says what to do. */
export class DeploymentNotFoundError extends ExplainedError {
  override readonly name = 'DeploymentNotFoundError';
}
