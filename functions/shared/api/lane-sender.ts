import { gather } from '../../../src/adapters/batching/gather.ts';
import type { QueuedMessage } from '../../../src/core/model/queue-message.ts';
import type { Observability } from '../runtime/observability.ts';

/** Sends messages to the lanes and returns those that could not be sent. */
export type SendMessages = (messages: readonly QueuedMessage[]) => Promise<readonly QueuedMessage[]>;

/** Milliseconds that a message waits for others, so that one call to SQS sends several. */
const BATCH_WAIT_MS = 20;
const MAX_MESSAGES = 100;

/** Sends the messages of accepted notifications. It never rejects: what SQS does not take now, the next sweep sends. */
export function createLaneSender(send: SendMessages, logger: Observability['logger']) {
  async function sendAll(messages: readonly QueuedMessage[]): Promise<void> {
    const refused = await send(messages).catch((error: unknown) => {
      logger.warn('not queued; the next sweep finds them', { count: messages.length, error: error as Error });
      return [];
    });
    if (refused.length > 0) logger.warn('not queued; the next sweep finds them', { count: refused.length });
  }

  return {
    sendAll,
    /** Sends one message together with those that other items of a batch send at about the same time. */
    sendSoon: gather<QueuedMessage, void>(
      async (messages) => {
        await sendAll(messages);
        return messages.map(() => undefined);
      },
      { max: MAX_MESSAGES, wait_ms: BATCH_WAIT_MS },
    ),
  };
}
