import { Duration, Stack } from 'aws-cdk-lib';
import { EventBus, EventField, type IEventBus, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import {
  ConfigurationSet,
  ConfigurationSetEventDestination,
  EmailSendingEvent,
  EventDestination,
  type IConfigurationSet,
} from 'aws-cdk-lib/aws-ses';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { DeliveryEventsEnv } from '../../../functions/shared/runtime/env.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, useTableKey } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import type { ChannelLanes } from '../lanes/channel-lanes.ts';
import { deadLetterQueue, QUEUE_DEFAULTS } from '../lanes/dead-letters.ts';
import { configurationSetName } from '../lanes/email-provider.ts';
import { laneUrls } from '../lanes/lane-queues.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

/** No one waits for an event, so full batches are worth a second. */
const BATCH_WINDOW = Duration.seconds(1);
const VISIBILITY_TIMEOUT = Duration.seconds(6 * SHORT_TIMEOUT.toSeconds() + BATCH_WINDOW.toSeconds());
/** An event of a claimed attempt comes back after the claim: once, or more often if retries follow closely. */
const MAX_RECEIVE_COUNT = 8;
/** Concurrent batches of ten. Opens come in bursts, and none is urgent. */
const MAX_CONCURRENCY = 5;

/** The events that the function applies. SES retries delayed mails itself, and its answer says that it took a mail. */
const EVENTS = [
  EmailSendingEvent.DELIVERY,
  EmailSendingEvent.OPEN,
  EmailSendingEvent.BOUNCE,
  EmailSendingEvent.COMPLAINT,
  EmailSendingEvent.REJECT,
  EmailSendingEvent.RENDERING_FAILURE,
];

export interface DeliveryEventsProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly encryption: Encryption;
  readonly email: ChannelLanes;
}

/** SES's events of mails that it took: from the configuration sets by EventBridge and a queue to a function. */
export class DeliveryEvents extends Construct {
  readonly queue: Queue;
  /** Events that the function could not read or apply. */
  readonly failures: Queue;
  readonly handler: ServiceFunction;

  constructor(scope: Construct, id: string, props: DeliveryEventsProps) {
    super(scope, id);
    const { config } = props;
    const name = `notification-retry-${config.stage}-delivery-events`;
    this.failures = deadLetterQueue(this, 'Failures', `${name}-dead-letter`, [name]);
    this.queue = new Queue(this, 'Queue', {
      ...QUEUE_DEFAULTS,
      queueName: name,
      retentionPeriod: Duration.days(4),
      visibilityTimeout: VISIBILITY_TIMEOUT,
      deadLetterQueue: { queue: this.failures, maxReceiveCount: MAX_RECEIVE_COUNT },
    });
    this.handler = this.eventsFunction(props);
    this.handler.addEventSource(
      new SqsEventSource(this.queue, {
        batchSize: 10,
        maxBatchingWindow: BATCH_WINDOW,
        maxConcurrency: MAX_CONCURRENCY,
        reportBatchItemFailures: true,
      }),
    );

    // SES publishes to the default bus only.
    const bus = EventBus.fromEventBusName(this, 'Bus', 'default');
    const sets = [...new Set([configurationSetName(config), ...config.integrationConfigurationSets])];
    for (const set of sets) this.publish(set, bus, config);
    for (const { id: ruleId, pattern, message } of deliveryEventRules(sets)) {
      const rule = new Rule(this, ruleId, {
        description: `notification-retry ${config.stage}: ${ruleId} of an e-mail`,
      });
      rule.addEventPattern(pattern);
      rule.addTarget(new SqsQueue(this.queue, { message }));
    }
  }

  /** Adds a destination to the set. A set that the configuration names exists already and is not changed otherwise. */
  private publish(name: string, bus: IEventBus, config: StageConfig): void {
    const own = config.configurationSet === undefined && name === configurationSetName(config);
    const set: IConfigurationSet = own
      ? new ConfigurationSet(this, 'ConfigurationSet', { configurationSetName: name })
      : ConfigurationSet.fromConfigurationSetName(this, `Set-${name}`, name);
    new ConfigurationSetEventDestination(this, `Destination-${name}`, {
      configurationSet: set,
      configurationSetEventDestinationName: `notification-retry-${config.stage}`,
      destination: EventDestination.eventBus(bus),
      events: EVENTS,
    });
  }

  private eventsFunction({ config, tables, encryption, email }: DeliveryEventsProps): ServiceFunction {
    return new ServiceFunction(this, 'Handler', {
      config,
      name: 'delivery-events',
      description: 'Applies what SES tells of e-mails after it took them',
      timeout: SHORT_TIMEOUT,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls({ email })),
        DELIVERY_EVENTS_QUEUE: this.queue.queueUrl,
        RETRY_POLICY: retryPolicyJson(config),
      } satisfies DeliveryEventsEnv,
      permissions: [
        allow(['dynamodb:BatchGetItem', 'dynamodb:PartiQLUpdate', 'dynamodb:UpdateItem'], [tables.log.tableArn]),
        allow(['dynamodb:GetItem', 'dynamodb:PartiQLInsert', 'dynamodb:PutItem'], [tables.retryLog.tableArn]),
        useTableKey(encryption.dataKey),
        // A bounced notification's next attempt is queued at once, if it is near.
        allow(['sqs:SendMessage'], [email.express.queueArn, email.standard.queueArn]),
      ],
    });
  }
}

/** An EventBridge rule for those events of SES that have the same fields. */
interface DeliveryEventRule {
  readonly id: string;
  readonly pattern: Readonly<Record<string, unknown>>;
  readonly message: RuleTargetInput;
}

/**
 * SES's events contain the recipient and the subject, which no queue may contain (docs/architecture.md, invariant 9).
 * So the rules pick the fields that the function needs, and the function never gets the event. An input transformer
 * cannot pick a field only if it exists, so there is one rule for each complete set of fields.
 * src/adapters/email/delivery-event-message.ts reads the fields.
 *
 * Only events of our own mails pass: those with our tags, of these configuration sets.
 */
function deliveryEventRules(configurationSets: readonly string[]): DeliveryEventRule[] {
  const rule = (
    id: string,
    eventType: readonly string[],
    at: string,
    bounce?: { readonly status: boolean },
  ): DeliveryEventRule => ({
    id,
    pattern: {
      source: ['aws.ses'],
      detail: {
        eventType,
        mail: {
          tags: {
            'ses:configuration-set': configurationSets,
            log_id: [{ exists: true }],
            attempt: [{ exists: true }],
          },
        },
        ...(bounce && { bounce: { bouncedRecipients: { status: [{ exists: bounce.status }] } } }),
      },
    },
    message: RuleTargetInput.fromObject({
      version: 1,
      event: field('eventType'),
      at: EventField.fromPath(at),
      log_id: field('mail.tags.log_id[0]'),
      attempt: field('mail.tags.attempt[0]'),
      provider_message_id: field('mail.messageId'),
      ...(bounce && {
        bounce: {
          type: field('bounce.bounceType'),
          sub_type: field('bounce.bounceSubType'),
          ...(bounce.status && { status: field('bounce.bouncedRecipients[0].status') }),
        },
      }),
    }),
  });
  return [
    rule('Delivery', ['Delivery'], '$.detail.delivery.timestamp'),
    rule('Open', ['Open'], '$.detail.open.timestamp'),
    rule('Complaint', ['Complaint'], '$.detail.complaint.timestamp'),
    rule('Bounce', ['Bounce'], '$.detail.bounce.timestamp', { status: false }),
    rule('BounceWithStatus', ['Bounce'], '$.detail.bounce.timestamp', { status: true }),
    rule('Failure', ['Reject', 'Rendering Failure'], '$.time'),
  ];
}

function field(path: string): string {
  return EventField.fromPath(`$.detail.${path}`);
}
