import type { Channel, Lane } from './channels.ts';
import type { QueueMessage } from './queue-message.ts';

export interface QueuedMessage {
  readonly message: QueueMessage;
  /** 0…900 */
  readonly delay_seconds: number;
}

export interface SweepLanes {
  /** Messages waiting to be received, roughly. */
  backlog(channel: Channel, lane: Lane): Promise<number>;
  /** Sends them all, in batches; gives back those that could not be sent. */
  send(messages: readonly QueuedMessage[]): Promise<QueuedMessage[]>;
}
