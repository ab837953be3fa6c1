import { Duration } from 'aws-cdk-lib';
import { EventBus, EventField, type IEventBus, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import {
  ConfigurationSetEventDestination,
  type EmailSendingEvent,
  EventDestination,
  type IConfigurationSet,
} from 'aws-cdk-lib/aws-ses';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { type ServiceFunction, SHORT_TIMEOUT } from '../function/service-function.ts';
import { deadLetterQueue, workQueue } from '../lanes/queues.ts';

/** An event of a claimed attempt comes back after the claim: once, or more often if retries follow closely. */
const MAX_RECEIVE_COUNT = 8;
/** Concurrent batches. Opens come in bursts, and none is urgent. */
const MAX_CONCURRENCY = 5;

/** Events of SES that have the same fields. */
export interface MailEventRule {
  readonly id: string;
  readonly types: readonly string[];
  /** Where their time is; that of EventBridge's own event unless given. */
  readonly at?: string;
  /** Whether SES says the status of the bounce. */
  readonly bounce?: { readonly status: boolean };
  /** Further conditions on `detail`. */
  readonly detail?: Readonly<Record<string, object>>;
  /** What they say, in the message: a detail that an event may lack cannot be picked. */
  readonly says?: Readonly<Record<string, string | boolean>>;
}

/** RFC 3464 §2.3.4 allows a comment in a status; one with an address must not get into a queue. */
const ADDRESSED = { wildcard: '*@*' };
const PLAIN = [{ 'anything-but': ADDRESSED }];
const UNUSABLE = [{ exists: false }, ADDRESSED];

const OWN_LIST = ['OnAccountSuppressionList'];
const otherThan = (values: readonly string[]) => [{ 'anything-but': [...values] }, { exists: false }, null];

/** Complaints that are none: SES sent nothing; the recipient says that the mail is no spam. */
export const NO_COMPLAINTS: readonly MailEventRule[] = [
  {
    id: 'SuppressedComplaint',
    types: ['Complaint'],
    detail: { complaint: { complaintSubType: OWN_LIST } },
    says: { complaint: 'suppressed' },
  },
  {
    id: 'NotSpam',
    types: ['Complaint'],
    detail: { complaint: { complaintSubType: otherThan(OWN_LIST), complaintFeedbackType: ['not-spam'] } },
    says: { complaint: 'not-spam' },
  },
];
/** All others, and events that are no complaint. */
export const COMPLAINED = {
  complaint: { complaintSubType: otherThan(OWN_LIST), complaintFeedbackType: otherThan(['not-spam']) },
};

/** Opens and clicks that SES takes for those of machines (since August 2026). */
export const BY_MACHINE = { isBotEvent: ['Likely'] };
/** All others, and events that are neither. */
export const BY_PERSON = { isBotEvent: otherThan(['Likely']) };

/** Whose events the rules let through, and what they pick. */
interface RuledMails {
  /** `an e-mail`. */
  readonly of: string;
  readonly sets: readonly string[];
  /** The tags that all of our mails have. */
  readonly tags: readonly string[];
  /** Other fields by their name in the message. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** SES's events of mails that it took: from configuration sets by EventBridge and a queue to a function. */
export abstract class MailEvents extends Construct {
  readonly queue: Queue;
  /** Events that the function could not read or apply. */
  readonly failures: Queue;
  abstract readonly handler: ServiceFunction;
  readonly #stage: string;
  readonly #window: Duration;
  readonly #bus: IEventBus;

  /** @param window nobody waits for an event, so full batches are worth a moment */
  constructor(scope: Construct, id: string, { stage }: StageConfig, of: string, window: Duration) {
    super(scope, id);
    this.#stage = stage;
    this.#window = window;
    const queueName = `notification-retry-${stage}-${of}`;
    this.failures = deadLetterQueue(this, 'Failures', `${queueName}-dead-letter`, [queueName]);
    this.queue = workQueue(this, 'Queue', {
      queueName,
      deadLetters: this.failures,
      maxReceiveCount: MAX_RECEIVE_COUNT,
      visibilityTimeout: Duration.seconds(6 * SHORT_TIMEOUT.toSeconds() + window.toSeconds()),
    });
    // SES publishes to the default bus only.
    this.#bus = EventBus.fromEventBusName(this, 'Bus', 'default');
  }

  protected feed(handler: ServiceFunction, batchSize: number): void {
    const bounds = { batchSize, maxBatchingWindow: this.#window, maxConcurrency: MAX_CONCURRENCY };
    handler.addEventSource(new SqsEventSource(this.queue, { ...bounds, reportBatchItemFailures: true }));
  }

  /** Adds a destination to the set. */
  protected publish(id: string, configurationSet: IConfigurationSet, events: EmailSendingEvent[]): void {
    new ConfigurationSetEventDestination(this, id, {
      configurationSet,
      configurationSetEventDestinationName: `notification-retry-${this.#stage}`,
      destination: EventDestination.eventBus(this.#bus),
      events,
    });
  }

  /**
   * SES's events contain the recipient and the subject, which no queue may contain (docs/architecture.md, invariant 9).
   * So the rules pick the fields that the function needs, and the function never gets the event. An input transformer
   * cannot pick a field only if it exists, so there is one rule for each complete set of fields.
   *
   * Only events of our own mails pass: those with our tags, of these configuration sets.
   */
  protected addRules(rules: readonly MailEventRule[], { of, sets, tags, fields = {} }: RuledMails): void {
    const present = Object.fromEntries(tags.map((tag) => [tag, [{ exists: true }]]));
    const picked = Object.fromEntries(tags.map((tag) => [tag, field(`mail.tags.${tag}[0]`)]));
    const others = Object.fromEntries(Object.entries(fields).map(([name, path]) => [name, field(path)]));
    for (const { id, types, at = '$.time', bounce, detail, says } of rules) {
      const rule = new Rule(this, id, { description: `notification-retry ${this.#stage}: ${id} of ${of}` });
      rule.addEventPattern({
        source: ['aws.ses'],
        detail: {
          eventType: [...types],
          mail: { tags: { 'ses:configuration-set': [...sets], ...present } },
          ...(bounce && { bounce: { bouncedRecipients: { status: bounce.status ? PLAIN : UNUSABLE } } }),
          ...detail,
        },
      });
      const message = RuleTargetInput.fromObject({
        version: 1,
        event: field('eventType'),
        at: EventField.fromPath(at),
        ...picked,
        ...others,
        ...says,
        ...(bounce && {
          bounce: {
            type: field('bounce.bounceType'),
            sub_type: field('bounce.bounceSubType'),
            ...(bounce.status && { status: field('bounce.bouncedRecipients[0].status') }),
          },
        }),
      });
      rule.addTarget(new SqsQueue(this.queue, { message }));
    }
  }
}

const field = (path: string): string => EventField.fromPath(`$.detail.${path}`);
