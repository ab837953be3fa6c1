import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Channel } from '../../core/model/channels.ts';
import type { ReceivedLog } from './received-log.ts';
import { type Refusal, type ScriptedAnswer, scriptedAnswerTo } from './scripted-answer.ts';

/** A parsed request to a provider. */
export interface Call {
  readonly channel: Channel;
  /** Decides the answer; see scripted-answer.ts. */
  readonly word: string;
  readonly target: string;
  readonly log_id?: string;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Writes a scripted answer in the form of a provider's protocol. */
export type FormatAnswer = (scripted: Exclude<ScriptedAnswer, { kind: 'drop' }>) => Answer | Promise<Answer>;

/** A provider's protocol: how it writes each kind of answer. */
interface Protocol {
  readonly accept: () => Answer;
  readonly status: (status: number) => Answer;
  readonly limit: (seconds: number) => Answer;
  readonly refuse: Readonly<Record<Refusal, Answer>>;
  readonly error: (code: string) => Answer;
}

export const REFUSALS_BY_STATUS: Readonly<Record<Refusal, number>> = {
  gone: 410,
  missing: 404,
  unauthorized: 401,
  forbidden: 403,
  malformed: 400,
};

export function answersOf({ accept, status, limit, refuse, error }: Protocol) {
  return (scripted: Parameters<FormatAnswer>[0]): Answer => {
    switch (scripted.kind) {
      case 'accept':
        return accept();
      case 'status':
        return status(scripted.status);
      case 'limit':
        return limit(scripted.retryAfterSeconds);
      case 'refuse':
        return refuse[scripted.why];
      case 'error':
        return error(scripted.code);
    }
  };
}

/** Answers as the call's word says, and records the request. */
export async function respond(
  call: Call,
  request: IncomingMessage,
  response: ServerResponse,
  received: ReceivedLog,
  format: FormatAnswer,
): Promise<void> {
  const key = keyOf(call);
  const { answer: scripted, delayMs } = scriptedAnswerTo(call.word, received.history(key));
  const record = (accepted: boolean, answer: string) =>
    received.add(key, {
      channel: call.channel,
      ...(call.log_id === undefined ? {} : { log_id: call.log_id }),
      accepted,
      answer,
      target: call.target,
      headers: plainHeaders(request.headers),
      body: call.body,
    });
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  if (scripted.kind === 'drop') {
    record(false, 'dropped');
    request.socket.destroy();
    return;
  }
  const answer = await format(scripted);
  const connected = !response.destroyed;
  // The provider accepts a request even when the sender no longer waits for the answer.
  const accepted = answer.status < 300 && (scripted.kind === 'accept' || scripted.kind === 'status');
  record(accepted, connected ? String(answer.status) : `${answer.status}, unheard`);
  if (connected) response.writeHead(answer.status, answer.headers).end(answer.body);
}

/**
 * Identifies a notification at an address. Slack and Teams get no id, so there equal bodies are the same notification.
 */
export function keyOf({ channel, target, log_id, body }: Call): string {
  const id = log_id ?? createHash('sha256').update(body).digest('base64url').slice(0, 22);
  return `${channel} ${target} ${id}`;
}

function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]));
}
