import type { Channel, Lane } from './channels.ts';
import type { QueueMessage } from './queue-message.ts';

export interface QueuedMessage {
  readonly message: QueueMessage;
  /** 0…900 */
  readonly delay_seconds: number;
}

export interface SweepLanes {
  /** Approximate number of messages that wait to be received. */
  backlog(channel: Channel, lane: Lane): Promise<number>;
  /** Sends the messages in batches. @returns those that could not be sent */
  send(messages: readonly QueuedMessage[]): Promise<QueuedMessage[]>;
}
