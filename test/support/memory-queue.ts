import type { QueueMessage, ReceivedMessage } from '../../src/core/model/queue-message.ts';
import type { Clock } from '../../src/core/model/time.ts';

interface StoredMessage {
  readonly id: string;
  readonly message: QueueMessage;
  readonly sent_at: Date;
  visible_at: number;
  receive_count: number;
}

export interface MemoryQueueOptions {
  readonly clock: Clock;
  readonly visibility_ms: number;
  readonly max_receive_count: number;
}

/**
 * A standard SQS queue with its dead-letter queue, in memory: at-least-once delivery, visibility, receive counts,
 * delay, and the console's redrive, which sends a new message with the old body.
 */
export class MemoryQueue {
  readonly messages: StoredMessage[] = [];
  readonly dead_letters: StoredMessage[] = [];
  readonly #options: MemoryQueueOptions;
  #serial = 0;

  constructor(options: MemoryQueueOptions) {
    this.#options = options;
  }

  send(message: QueueMessage, delay_seconds = 0): void {
    const now = this.#options.clock();
    this.messages.push({
      id: `message-${++this.#serial}`,
      message,
      sent_at: now,
      visible_at: now.getTime() + delay_seconds * 1000,
      receive_count: 0,
    });
  }

  /** Receives up to `max` visible messages, which become invisible. One received too often becomes a dead letter. */
  receive(max: number): ReceivedMessage[] {
    const now = this.#options.clock().getTime();
    const received: ReceivedMessage[] = [];
    for (const stored of this.messages.filter(({ visible_at }) => visible_at <= now)) {
      if (received.length === max) break;
      if (stored.receive_count >= this.#options.max_receive_count) {
        this.#remove(stored.id);
        this.dead_letters.push(stored);
        continue;
      }
      stored.receive_count += 1;
      stored.visible_at = now + this.#options.visibility_ms;
      const { id, message, sent_at, receive_count } = stored;
      received.push({ message, message_id: id, sent_at, receive_count });
    }
    return received;
  }

  delete(message_id: string): void {
    this.#remove(message_id);
  }

  returnAfter(message_id: string, seconds: number): void {
    const stored = this.messages.find(({ id }) => id === message_id);
    if (stored) stored.visible_at = this.#options.clock().getTime() + seconds * 1000;
  }

  /** Makes a message that is in flight visible again, since SQS delivers at least once. */
  showAgain(message_id: string): void {
    this.returnAfter(message_id, 0);
  }

  /** Moves all dead letters back to the queue. */
  redrive(): number {
    const letters = this.dead_letters.splice(0);
    for (const { message } of letters) this.send(message);
    return letters.length;
  }

  #remove(message_id: string): void {
    const index = this.messages.findIndex(({ id }) => id === message_id);
    if (index >= 0) this.messages.splice(index, 1);
  }
}
