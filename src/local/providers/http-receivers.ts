import type { Answer, Call, Voice } from './respond.ts';
import { statusOf } from './scripted-answer.ts';

/** `/webhook/WORD…`; Standard Webhooks says in `webhook-id` which notification it is. */
export function webhookCall(path: string, id: string | undefined, body: string): Call {
  const target = `/webhook/${path}`;
  return { channel: 'webhook', word: path, target, body, ...(id === undefined ? {} : { log_id: id }) };
}

export const webhookVoice: Voice = plainVoice({ status: 200, body: '{"received":true}' });

/** `/teams/WORD…`, a Workflows webhook. */
export function teamsCall(path: string, body: string): Call {
  return { channel: 'teams', word: path, target: `/teams/${path}`, body };
}

/** Power Automate says 202 before the message is posted. */
export const teamsVoice: Voice = plainVoice({ status: 202, body: '' });

function plainVoice(accepted: Answer): Voice {
  return (verdict) => {
    switch (verdict.kind) {
      case 'accept':
        return accepted;
      case 'status':
        return { status: verdict.status, body: `status ${verdict.status}, as asked` };
      case 'limit':
        return {
          status: 429,
          headers: { 'retry-after': String(verdict.retryAfterSeconds) },
          body: 'too many requests',
        };
      case 'refuse':
        return { status: statusOf(verdict.why), body: verdict.why };
      case 'error':
        return { status: 400, body: JSON.stringify({ error: { code: verdict.code, message: 'as asked' } }) };
    }
  };
}
