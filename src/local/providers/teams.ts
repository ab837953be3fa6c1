import { plainAnswer } from './plain-answer.ts';
import type { Call } from './respond.ts';

/** `/teams/WORD…`, a Workflows webhook. */
export function teamsCall(path: string, body: string): Call {
  return { channel: 'teams', word: path, target: `/teams/${path}`, body };
}

/** Power Automate answers 202 before the message is posted. */
export const teamsAnswer = plainAnswer({ status: 202, body: '' });
