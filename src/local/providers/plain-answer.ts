import type { Answer, FormatAnswer } from './respond.ts';
import { statusOf } from './scripted-answer.ts';

/** Answers of a receiver that has no protocol of its own beyond HTTP statuses. */
export function plainAnswer(accepted: Answer): FormatAnswer {
  return (scripted) => {
    switch (scripted.kind) {
      case 'accept':
        return accepted;
      case 'status':
        return { status: scripted.status, body: `status ${scripted.status}, as asked` };
      case 'limit':
        return {
          status: 429,
          headers: { 'retry-after': String(scripted.retryAfterSeconds) },
          body: 'too many requests',
        };
      case 'refuse':
        return { status: statusOf(scripted.why), body: scripted.why };
      case 'error':
        return { status: 400, body: JSON.stringify({ error: { code: scripted.code, message: 'as asked' } }) };
    }
  };
}
