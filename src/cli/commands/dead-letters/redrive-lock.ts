import { join } from 'node:path';
import { RedriveRunningError } from '../../../adapters/sqs/redrive.ts';
import type { Channel } from '../../../core/model/channels.ts';
import { takePidLock } from '../../../processes/pid-lock.ts';

/**
 * SQS allows one redrive per queue at a time. This lock does so where we move the messages ourselves.
 * @returns a function that releases the lock
 * @throws RedriveRunningError when another command redrives this channel
 */
export function lockRedrive(directory: string, channel: Channel): () => void {
  return takePidLock(
    join(directory, `redrive-${channel}.pid`),
    (pid) =>
      new RedriveRunningError(
        `A redrive of ${channel} is already running (process ${pid ?? 'unknown'}): wait for its end, then redrive again.`,
      ),
  );
}
