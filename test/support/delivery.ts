import type { Delivery } from '../../src/core/delivery/ports.ts';
import type { Channel } from '../../src/core/model/channels.ts';
import type { NotificationContent } from '../../src/core/model/notification.ts';

/** An attempt with the content and fields that the test needs. */
export function delivery(
  channel: Channel,
  content: Partial<NotificationContent> = {},
  fields: Partial<Omit<Delivery, 'content' | 'channel'>> = {},
): Delivery {
  return {
    log_id: 'NL-1',
    tenant_id: 'TENANT001',
    attempt: 1,
    channel,
    at: new Date('2026-03-01T09:30:00.500Z'),
    content: {
      recipient: 'someone@example.com',
      body: 'The certificate of the shop expires.',
      format: 'PLAIN',
      ...content,
    },
    ...fields,
  };
}

export const NEVER = new AbortController().signal;
