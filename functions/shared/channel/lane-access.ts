import { createRetryQueue, type LaneOptions } from '../../../src/adapters/sqs/lanes.ts';
import { type Returned, returnToQueue } from '../../../src/adapters/sqs/redelivery.ts';
import type { RetryQueue } from '../../../src/core/delivery/ports.ts';
import type { PerLane } from '../../../src/core/model/channels.ts';
import { createSqs } from '../runtime/clients/sqs.ts';

/** What a channel function does with SQS. */
export interface LaneAccess {
  readonly retries: RetryQueue;
  /** @returns how many come back later than they should */
  readonly giveBack: (url: string, returned: readonly Returned[]) => Promise<number>;
}

/** A module of its own: what is delivered has no use for it, so it is loaded with the first message that is not. */
export function createLaneAccess(queues: PerLane<string>, options: LaneOptions): LaneAccess {
  const sqs = createSqs();
  return {
    retries: createRetryQueue(sqs, queues, options),
    giveBack: (url, returned) => returnToQueue(sqs, url, returned),
  };
}
