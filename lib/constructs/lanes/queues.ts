import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { Queue, QueueEncryption, type QueueProps, RedrivePermission } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';

/**
 * The settings that all queues share. They are encrypted with SQS's own key: messages carry ids only
 * (docs/architecture.md, invariant 9), and with a key of ours, operators would need a right on that key to redrive. A team's key replaces it (platform.ts).
 */
const QUEUE_DEFAULTS = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true } as const satisfies QueueProps;

interface WorkQueue {
  readonly queueName: string;
  /** Longer than a function may work on a message. */
  readonly visibilityTimeout: Duration;
  /** Where SQS moves a message after `maxReceiveCount` receives. */
  readonly deadLetters: Queue;
  readonly maxReceiveCount: number;
}

export function workQueue(
  scope: Construct,
  id: string,
  { queueName, visibilityTimeout, deadLetters, maxReceiveCount }: WorkQueue,
): Queue {
  return new Queue(scope, id, {
    ...QUEUE_DEFAULTS,
    queueName,
    retentionPeriod: Duration.days(4),
    visibilityTimeout,
    deadLetterQueue: { queue: deadLetters, maxReceiveCount },
  });
}

/** The longest time that SQS keeps a message. A dead letter keeps the age it had in its lane. */
const DEAD_LETTER_RETENTION = Duration.days(14);

/** A queue where messages wait for an operator. Only SQS fills it, from the named queues. */
export function deadLetterQueue(scope: Construct, id: string, name: string, sourceNames: readonly string[]): Queue {
  const stack = Stack.of(scope);
  const queue = new Queue(scope, id, {
    ...QUEUE_DEFAULTS,
    queueName: name,
    retentionPeriod: DEAD_LETTER_RETENTION,
    redriveAllowPolicy: {
      redrivePermission: RedrivePermission.BY_QUEUE,
      // The sources refer to this queue, and CloudFormation refuses cycles: so this queue refers to them by name.
      sourceQueues: sourceNames.map((source) =>
        Queue.fromQueueArn(scope, `${id}Source-${source}`, stack.formatArn({ service: 'sqs', resource: source })),
      ),
    },
  });
  acknowledgeLastStop(queue, 'It is the dead-letter queue: what arrives here waits for an operator.');
  return queue;
}

/** A queue for the events that Lambda gave up. */
export function failureQueue(scope: Construct, id: string): Queue {
  const queue = new Queue(scope, id, { ...QUEUE_DEFAULTS, retentionPeriod: DEAD_LETTER_RETENTION });
  acknowledgeLastStop(queue, 'It is the failure destination: what arrives here waits for an operator.');
  return queue;
}

function acknowledgeLastStop(queue: Queue, reason: string): void {
  Validations.of(queue).acknowledge({ id: 'AwsSolutions-SQS3', reason });
}
