import { Duration, Lazy, Stack } from 'aws-cdk-lib';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Deployed, senderEnv } from '../../../functions/shared/runtime/env.ts';
import { CLAIM_MS, SEND_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import { type Channel, LANES, type Lane, type StageLanes } from '../../../src/core/model/channels.ts';
import { breakerJson, pacingJson, retryPolicyJson } from '../../config/settings-json.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from '../function/nag-acknowledgements.ts';
import {
  allow,
  decryptSecrets,
  on,
  openRecipients,
  useBreakersAndBudgets,
  useTableKey,
} from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import type { StageStorage } from '../storage/tables.ts';
import { deadLetterQueue, workQueue } from './queues.ts';

/** Lambda's rule for queues of functions: it leaves time for throttled tries before SQS delivers the message again. */
const visibilityTimeout = (windowSeconds: number) => Duration.seconds(6 * SHORT_TIMEOUT.toSeconds() + windowSeconds);
/** Deliveries before SQS moves a message to the DLQ. With fewer than five, throttling alone could move messages. */
const MAX_RECEIVE_COUNT = 5;

interface ChannelLanesProps extends StageStorage {
  readonly channel: Channel;
  /** Queue URLs of all channels; called once all channels are made. */
  readonly laneUrls: () => StageLanes<string>;
  /** Variables and rights that only this channel's provider needs. */
  readonly provider?: {
    readonly environment: Readonly<Record<string, string>>;
    readonly permissions?: readonly WildcardPermission[];
  };
}

/** A channel: its two lanes, their shared dead-letter queue, and the function that sends. */
export class ChannelLanes extends Construct {
  readonly express: Queue;
  readonly standard: Queue;
  readonly deadLetters: Queue;
  readonly sender: ServiceFunction;

  constructor(scope: Construct, id: string, props: ChannelLanesProps) {
    super(scope, id);
    const { config, channel } = props;
    const nameOf = (queue: string) => `notification-retry-${config.stage}-${channel}-${queue}`;

    const sources = LANES.map(nameOf);
    this.deadLetters = deadLetterQueue(this, 'DeadLetters', nameOf('dead-letter'), sources);
    const windows = config.batchWindowSeconds[channel];
    this.express = this.lane('Express', nameOf('express'), windows.express);
    this.standard = this.lane('Standard', nameOf('standard'), windows.standard);
    this.sender = this.senderFunction(props);
    this.consume('express', props);
    this.consume('standard', props);
  }

  /** Lets the sender queue a successor in the lanes of the fallback channel. */
  allowFailoverTo({ express, standard }: ChannelLanes): void {
    this.sender.executionRole.addToPrincipalPolicy(allow(['sqs:SendMessage'], [express.queueArn, standard.queueArn]));
  }

  private lane(id: string, queueName: string, windowSeconds: number): Queue {
    return workQueue(this, id, {
      queueName,
      deadLetters: this.deadLetters,
      maxReceiveCount: MAX_RECEIVE_COUNT,
      visibilityTimeout: visibilityTimeout(windowSeconds),
    });
  }

  private consume(lane: Lane, { config, channel }: ChannelLanesProps): void {
    // The event source also grants the rights of Lambda's poller on this queue: receive, delete, change visibility.
    this.sender.addEventSource(
      new SqsEventSource(this[lane], {
        batchSize: config.batchSize[channel][lane],
        // Batches become cheap; an urgent notification comes later by this window at worst.
        maxBatchingWindow: Duration.seconds(config.batchWindowSeconds[channel][lane]),
        maxConcurrency: config.concurrency[channel][lane],
        reportBatchItemFailures: true,
      }),
    );
  }

  private senderFunction({
    config,
    channel,
    tables,
    encryption,
    laneUrls,
    provider,
  }: ChannelLanesProps): ServiceFunction {
    /** All batches that its lanes may have at once: as many invocations are kept for it, and no less. */
    const atOnce = config.concurrency[channel].express + config.concurrency[channel].standard;
    return new ServiceFunction(this, 'Sender', {
      config,
      name: `send-${channel}`,
      description: `Sends ${channel} notifications and settles them`,
      timeout: SHORT_TIMEOUT,
      allowRecursion: true,
      reservedConcurrency: config.reservedConcurrency && atOnce,
      environment: {
        ...({
          NOTIFICATION_LOG_TABLE: tables.log.tableName,
          NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
          NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
          PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
          DATA_KEYS_TABLE: tables.dataKeys.tableName,
          BREAKER: breakerJson(config),
          PACING: pacingJson(config, atOnce),
          // A successor may go to another channel, whose queues may not be made yet.
          LANE_QUEUES: Lazy.string({ produce: () => Stack.of(this).toJsonString(laneUrls()) }),
          RETRY_POLICY: retryPolicyJson(config),
          CLAIM_SECONDS: String(CLAIM_MS / 1000),
          SEND_TIMEOUT_SECONDS: String(SEND_MS / 1000),
          RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
          INTEGRATION_SECRET_PREFIX: integrationPrefix(config),
        } satisfies Deployed<typeof senderEnv>),
        ...provider?.environment,
      },
      permissions: [
        // Claim and settle are conditional PartiQL updates in batches.
        on(tables.log, 'PartiQLUpdate', 'UpdateItem', 'BatchGetItem'),
        on(tables.content, 'BatchGetItem', 'GetItem', 'UpdateItem'),
        on(tables.retryLog, 'GetItem', 'PartiQLInsert', 'PutItem'),
        // A successor on the fallback channel: its content and its row (src/core/delivery/failover.ts).
        allow(['dynamodb:PutItem'], [tables.log.tableArn, tables.content.tableArn]),
        useBreakersAndBudgets(tables.pipelineState),
        useTableKey(encryption.dataKey),
        ...openRecipients(encryption, tables),
        decryptSecrets(encryption),
        // The sender queues a retry that is due within 15 minutes at once, with a delay.
        allow(['sqs:SendMessage'], [this.express.queueArn, this.standard.queueArn]),
      ],
      wildcards: [
        integrationSecrets(this, config, 'Integrations are added without a deployment.', channel),
        ...(provider?.permissions ?? []),
      ],
    });
  }
}

export type Channels = { readonly [C in Channel]?: ChannelLanes };

export function laneUrls(channels: Channels): StageLanes<string> {
  const urls = ({ express, standard }: ChannelLanes) => ({ express: express.queueUrl, standard: standard.queueUrl });
  return Object.fromEntries(Object.entries(channels).map(([channel, lanes]) => [channel, urls(lanes)]));
}

export function letterUrls(channels: Channels): { readonly [C in Channel]?: string } {
  return Object.fromEntries(
    Object.entries(channels).map(([channel, { deadLetters }]) => [channel, deadLetters.queueUrl]),
  );
}

export function laneArns(channels: Channels): string[] {
  return Object.values(channels).flatMap(({ express, standard }) => [express.queueArn, standard.queueArn]);
}

/** The name of an integration's secret is this prefix, the channel, a slash and the row's `integration_config_id`. */
export function integrationPrefix(config: StageConfig): string {
  return `notification-retry/${config.stage}/integrations/`;
}

/** Reading the secrets of its integrations, or of all (docs/decisions/channels/outbound-http.md#0086). */
export function integrationSecrets(
  scope: Construct,
  config: StageConfig,
  reason: string,
  channel?: Channel,
): WildcardPermission {
  const prefix = integrationPrefix(config);
  const resource = secretArns(scope, channel === undefined ? prefix : `${prefix}${channel}/`);
  return { statement: allow(['secretsmanager:GetSecretValue'], [resource]), resource, reason };
}

/** Secrets Manager adds six characters to the end of each ARN. */
function secretArns(scope: Construct, prefix: string): string {
  const { partition, region, account } = Stack.of(scope);
  return `arn:${partition}:secretsmanager:${region}:${account}:secret:${prefix}*`;
}
