import type { QueuedMessage } from '../model/lanes.ts';
import { MAX_DELAY_MS, messageFor, newRunId, type Routing } from '../model/queue-message.ts';
import { epochMs } from '../model/time.ts';

/**
 * The message that the intake sends to the lane. Undefined when it is due later than the 15 minutes by which SQS can
 * delay it: a sweep sends it then.
 * @param id must be new: a second message of the same run, sent after the notification died, counts as a redrive
 */
export function laneMessage(row: Routing, due: string, id: string, now: Date): QueuedMessage | undefined {
  const delay_seconds = Math.max(0, Math.ceil((epochMs(due) - now.getTime()) / 1000));
  if (delay_seconds * 1000 > MAX_DELAY_MS) return undefined;
  return { message: messageFor(row, due, newRunId('intake', id)), delay_seconds };
}
