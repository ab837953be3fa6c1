import { Duration } from 'aws-cdk-lib';
import { EventBus, EventField, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import {
  ConfigurationSet,
  ConfigurationSetEventDestination,
  EmailSendingEvent,
  EventDestination,
} from 'aws-cdk-lib/aws-ses';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { NewsletterEventsEnv } from '../../../functions/shared/runtime/newsletter-env.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { CONFIGURATION_SETS } from '../../../src/core/newsletter/model/provider.ts';
import { allow, openRecipients, readSecrets, useTableKey, useWarming } from '../function/permissions.ts';
import { ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { deadLetterQueue, QUEUE_DEFAULTS } from '../lanes/dead-letters.ts';
import { recipientEnvironment } from './job-access.ts';
import type { NewsletterProps } from './newsletter-props.ts';
import { newsletterConfigurationSet } from './newsletter-sending.ts';

/** Events of a batch are applied by one write, so large batches cost little. Nobody waits for an event. */
const BATCH_SIZE = 1_000;
const BATCH_WINDOW = Duration.seconds(5);
const MAX_CONCURRENCY = 5;
const MAX_RECEIVE_COUNT = 8;

/** The events of SES that are counted. Send says that a call was accepted whose answer got lost. */
const EVENTS = [
  EmailSendingEvent.SEND,
  EmailSendingEvent.DELIVERY,
  EmailSendingEvent.OPEN,
  EmailSendingEvent.CLICK,
  EmailSendingEvent.BOUNCE,
  EmailSendingEvent.COMPLAINT,
  EmailSendingEvent.REJECT,
  EmailSendingEvent.RENDERING_FAILURE,
];

/** The events of newsletters: from their configuration set by EventBridge and a queue to a function. */
export class NewsletterEvents extends Construct {
  readonly queue: Queue;
  readonly failures: Queue;
  readonly handler: ServiceFunction;

  constructor(scope: Construct, id: string, props: Omit<NewsletterProps, 'queues'>) {
    super(scope, id);
    const { config } = props;
    const name = `notification-retry-${config.stage}-newsletter-events`;
    this.failures = deadLetterQueue(this, 'Failures', `${name}-dead-letter`, [name]);
    this.queue = new Queue(this, 'Queue', {
      ...QUEUE_DEFAULTS,
      queueName: name,
      retentionPeriod: Duration.days(4),
      visibilityTimeout: Duration.seconds(6 * SHORT_TIMEOUT.toSeconds() + BATCH_WINDOW.toSeconds()),
      deadLetterQueue: { queue: this.failures, maxReceiveCount: MAX_RECEIVE_COUNT },
    });
    this.handler = this.eventsFunction(props);
    this.handler.addEventSource(
      new SqsEventSource(this.queue, {
        batchSize: BATCH_SIZE,
        maxBatchingWindow: BATCH_WINDOW,
        maxConcurrency: MAX_CONCURRENCY,
        reportBatchItemFailures: true,
      }),
    );
    const set = newsletterConfigurationSet(config);
    // SES publishes to the default bus only.
    const destination = EventDestination.eventBus(EventBus.fromEventBusName(this, 'Bus', 'default'));
    for (const { suffix, opens, clicks } of CONFIGURATION_SETS) {
      new ConfigurationSetEventDestination(this, `Destination${suffix}`, {
        configurationSet: new ConfigurationSet(this, `ConfigurationSet${suffix}`, {
          configurationSetName: `${set}${suffix}`,
        }),
        configurationSetEventDestinationName: `notification-retry-${config.stage}`,
        destination,
        events: EVENTS.filter(
          (event) => (opens || event !== EmailSendingEvent.OPEN) && (clicks || event !== EmailSendingEvent.CLICK),
        ),
      });
    }
    const sets = CONFIGURATION_SETS.map(({ suffix }) => `${set}${suffix}`);
    for (const rule of RULES) this.addRule(rule, sets, config.stage);
  }

  private addRule({ id, types, bounce }: NewsletterRule, sets: readonly string[], stage: string): void {
    const rule = new Rule(this, id, { description: `notification-retry ${stage}: ${id} of a newsletter` });
    const present = [{ exists: true }];
    rule.addEventPattern({
      source: ['aws.ses'],
      detail: {
        eventType: [...types],
        mail: { tags: { 'ses:configuration-set': [...sets], email_id: present, chunk: present, n: present } },
        ...(bounce && { bounce: { bouncedRecipients: { status: [{ exists: bounce.status }] } } }),
      },
    });
    rule.addTarget(new SqsQueue(this.queue, { message: messageOf(bounce) }));
  }

  private eventsFunction(props: Omit<NewsletterProps, 'queues'>): ServiceFunction {
    const { config, tables, newsletterTables, encryption } = props;
    const { emails, batches, recipients, members } = newsletterTables;
    return new ServiceFunction(this, 'Handler', {
      config,
      name: 'newsletter-events',
      description: 'Counts what SES tells of newsletters, and suppresses whom it cannot reach',
      timeout: SHORT_TIMEOUT,
      environment: {
        ...recipientEnvironment(props),
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
      } satisfies NewsletterEventsEnv,
      permissions: [
        // Too many bounces or complaints pause an email.
        allow(['dynamodb:GetItem', 'dynamodb:UpdateItem'], [emails.tableArn]),
        allow(['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [batches.tableArn, recipients.tableArn]),
        allow(['dynamodb:BatchGetItem', 'dynamodb:UpdateItem'], [members.tableArn]),
        useWarming(tables.pipelineState),
        useTableKey(encryption.dataKey),
        ...openRecipients(encryption, tables, SEALED.members),
        readSecrets(encryption),
        allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
      ],
    });
  }
}

interface NewsletterRule {
  readonly id: string;
  readonly types: readonly string[];
  readonly bounce?: { readonly status: boolean };
}

/** An input transformer cannot pick a field only if it exists, so each complete set of fields has a rule. */
const RULES: readonly NewsletterRule[] = [
  { id: 'Progress', types: ['Send', 'Delivery', 'Open', 'Click', 'Complaint', 'Reject', 'Rendering Failure'] },
  { id: 'Bounce', types: ['Bounce'], bounce: { status: false } },
  { id: 'BounceWithStatus', types: ['Bounce'], bounce: { status: true } },
];

/**
 * SES's events contain the recipient and the subject, which no queue may contain (docs/architecture.md, invariant 9).
 */
function messageOf(bounce: NewsletterRule['bounce']): RuleTargetInput {
  const field = (path: string) => EventField.fromPath(`$.detail.${path}`);
  return RuleTargetInput.fromObject({
    version: 1,
    event: field('eventType'),
    at: EventField.fromPath('$.time'),
    email_id: field('mail.tags.email_id[0]'),
    chunk: field('mail.tags.chunk[0]'),
    n: field('mail.tags.n[0]'),
    ...(bounce && {
      bounce: {
        type: field('bounce.bounceType'),
        sub_type: field('bounce.bounceSubType'),
        ...(bounce.status && { status: field('bounce.bouncedRecipients[0].status') }),
      },
    }),
  });
}
