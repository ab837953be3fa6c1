import { plainAnswer } from './plain-answer.ts';
import type { Call } from './respond.ts';

/** `/webhook/WORD…`. The header `webhook-id` of Standard Webhooks names the notification. */
export function webhookCall(path: string, id: string | undefined, body: string): Call {
  const target = `/webhook/${path}`;
  return { channel: 'webhook', word: path, target, body, ...(id === undefined ? {} : { log_id: id }) };
}

export const webhookAnswer = plainAnswer({ status: 200, body: '{"received":true}' });
