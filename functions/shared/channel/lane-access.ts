import { createRetryQueue, type LaneOptions, type Returned, returnToQueue } from '../../../src/adapters/sqs/lanes.ts';
import { QUEUE_CALL_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { StageLanes } from '../../../src/core/model/channels.ts';
import { createSqs } from '../runtime/clients/sqs.ts';

/** In a module of its own, so that it is loaded only when the first message cannot be delivered at once. */
export function createLaneAccess(queues: StageLanes<string>, options: LaneOptions) {
  const sqs = createSqs();
  return {
    retries: createRetryQueue(sqs, queues, { ...options, within_ms: QUEUE_CALL_MS }),
    giveBack: (url: string, returned: readonly Returned[]) => returnToQueue(sqs, url, returned),
  };
}
