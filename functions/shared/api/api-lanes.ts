import { createSweepLanes } from '../../../src/adapters/sqs/lanes.ts';
import type { StageLanes } from '../../../src/core/model/channels.ts';
import type { SweepLanes } from '../../../src/core/model/queue-message.ts';
import { limits } from '../runtime/clients/lean.ts';
import { createSqs } from '../runtime/clients/sqs.ts';

/** Milliseconds after which the API answers without its messages: stored notifications are due, and a sweep finds them. */
const SEND_MS = 2_000;

/** The lanes, for the API. In a module of its own: with two of them, the first message would load twice the chunks. */
export function createApiLanes(queues: StageLanes<string>): SweepLanes {
  return createSweepLanes(createSqs(limits(SEND_MS / 2)), queues, { within_ms: SEND_MS });
}
