import { isObject, type JsonObject } from '../../support/json.ts';
import { nameInArn } from './references.ts';

export interface QueuePlan {
  readonly name: string;
  /** CreateQueue's attributes. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Name of the queue that gets messages which were received too often. */
  readonly deadLetterQueue?: string;
}

/** Attributes that change a queue's behaviour. Encryption and policies have no effect on a stand-in. */
const ATTRIBUTES = [
  'VisibilityTimeout',
  'DelaySeconds',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'FifoQueue',
  'ContentBasedDeduplication',
] as const;

export function queueFrom(name: string, properties: JsonObject): QueuePlan {
  const attributes: Record<string, string> = {};
  for (const key of ATTRIBUTES) {
    // CloudFormation allows numbers, SQS wants texts.
    if (properties[key] !== undefined) attributes[key] = String(properties[key]);
  }
  const redrive = properties['RedrivePolicy'];
  if (!isObject(redrive)) return { name, attributes };
  attributes['RedrivePolicy'] = JSON.stringify({
    deadLetterTargetArn: redrive['deadLetterTargetArn'],
    maxReceiveCount: Number(redrive['maxReceiveCount']),
  });
  return { name, attributes, deadLetterQueue: nameInArn(String(redrive['deadLetterTargetArn'])) };
}
