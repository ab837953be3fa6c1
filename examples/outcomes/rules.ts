import { Duration, type SecretValue } from 'aws-cdk-lib';
import {
  ApiDestination,
  Authorization,
  Connection,
  type EventBus,
  EventField,
  type EventPattern,
  type IApiDestination,
  type IEventBus,
  Rule,
  RuleTargetInput,
} from 'aws-cdk-lib/aws-events';
import { ApiDestination as ApiDestinationTarget, LambdaFunction, SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';

/** The stage's own, or one that is found by its name. */
type Bus = EventBus | IEventBus;

const SOURCE = 'notification-retry';

/** What one producer wants to know: the ends of its own notifications. */
export const endsOf = (tenant_id: string): EventPattern => ({
  source: [SOURCE],
  detailType: ['Notification Delivered', 'Notification Given Up', 'Notification Bounced'],
  detail: { tenant_id: [tenant_id] },
});

export interface Receiver {
  /** An https URL of the producer. */
  readonly url: string;
  /** Goes into the header Authorization, such as `Bearer …`. */
  readonly key: SecretValue;
  /** Takes what the receiver refused for a day. */
  readonly failures: Queue;
}

/** Posts to the producer, at most ten times a second, and tries for a day. */
export function postTo(
  scope: Construct,
  id: string,
  { bus, pattern, receiver }: { bus: Bus; pattern: EventPattern; receiver: Receiver },
): Rule {
  const target = new ApiDestinationTarget(destination(scope, id, receiver), {
    event: RuleTargetInput.fromEventPath('$.detail'),
    deadLetterQueue: receiver.failures,
    maxEventAge: Duration.hours(24),
  });
  return new Rule(scope, id, { eventBus: bus as IEventBus, eventPattern: pattern, targets: [target] });
}

function destination(scope: Construct, id: string, { url, key }: Receiver): IApiDestination {
  const authorization = Authorization.apiKey('Authorization', key);
  const connection = new Connection(scope, `${id}Connection`, { authorization });
  const made = new ApiDestination(scope, `${id}Destination`, { connection, endpoint: url, rateLimitPerSecond: 10 });
  return made as IApiDestination;
}

/** Sends whole events to a queue of the producer. */
export function sendTo(scope: Construct, id: string, bus: Bus, queue: Queue): Rule {
  return new Rule(scope, id, {
    eventBus: bus as IEventBus,
    eventPattern: { source: [SOURCE] },
    targets: [new SqsQueue(queue)],
  });
}

export const PROVIDERS: EventPattern = { source: [SOURCE], detailType: ['Provider Down', 'Provider Up'] };

/** Mailings that failed, or were sent partially. */
export const FAILED_EMAILS: EventPattern = {
  source: [SOURCE],
  detailType: ['Email Ended'],
  detail: { status: ['failed'] },
};

/** Alarms of a stage's newsletters that begin to ring, on the account's default bus. */
export const newsletterAlarms = (stage: string): EventPattern => ({
  source: ['aws.cloudwatch'],
  detailType: ['CloudWatch Alarm State Change'],
  detail: { alarmName: [{ prefix: `notification-retry-${stage}-newsletter-` }], state: { value: ['ALARM'] } },
});

/** Invokes a function with each event that matches. @param bus the account's default bus if undefined */
export function invoke(
  scope: Construct,
  id: string,
  { bus, pattern, called }: { bus: Bus | undefined; pattern: EventPattern; called: IFunction },
): Rule {
  const targets = [new LambdaFunction(called)];
  return new Rule(scope, id, { ...(bus && { eventBus: bus as IEventBus }), eventPattern: pattern, targets });
}

/**
 * The other way: an event of a producer's own bus becomes a notification. Its id is the idempotency key, as EventBridge
 * may deliver it twice. Server errors and 429 are tried again; an item that the API refuses is only in its answer.
 */
export function takeIn(
  scope: Construct,
  id: string,
  { bus, pattern, api }: { bus: Bus; pattern: EventPattern; api: Receiver },
): Rule {
  const notification = {
    idempotency_key: EventField.fromPath('$.id'),
    channel: 'webhook',
    recipient: EventField.fromPath('$.detail.callback_url'),
    body: EventField.fromPath('$.detail.message'),
    notification_id: EventField.fromPath('$.detail.order_id'),
  };
  const target = new ApiDestinationTarget(destination(scope, id, api), {
    event: RuleTargetInput.fromObject({ notifications: [notification] }),
    // The API refuses a request without one, although each item has its own.
    headerParameters: { 'Idempotency-Key': 'of-its-items' },
    deadLetterQueue: api.failures,
    maxEventAge: Duration.hours(24),
  });
  return new Rule(scope, id, { eventBus: bus as IEventBus, eventPattern: pattern, targets: [target] });
}
