import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Channel } from '../../core/model/channels.ts';
import type { ReceivedLog } from './received.ts';
import { follow, type ScriptedAnswer } from './scripted-answer.ts';

/** A provider's request, understood. */
export interface Call {
  readonly channel: Channel;
  /** What decides the behaviour; see script.ts. */
  readonly word: string;
  /** The address that was written to. */
  readonly target: string;
  readonly log_id?: string;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How a provider puts a verdict. */
export type Voice = (verdict: Exclude<ScriptedAnswer, { kind: 'drop' }>) => Answer | Promise<Answer>;

/** Behaves as the call's word says, and notes what was received. */
export async function respond(
  call: Call,
  request: IncomingMessage,
  response: ServerResponse,
  received: ReceivedLog,
  voice: Voice,
): Promise<void> {
  const key = keyOf(call);
  const { answer: scripted, delayMs } = follow(call.word, received.history(key));
  const note = (accepted: boolean, answer: string) =>
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
    note(false, 'dropped');
    request.socket.destroy();
    return;
  }
  const answer = await voice(scripted);
  const heard = !response.destroyed;
  // What the sender no longer waited for has not been accepted as far as it can know, but it has been received.
  const accepted = answer.status < 300 && (scripted.kind === 'accept' || scripted.kind === 'status');
  note(accepted, heard ? String(answer.status) : `${answer.status}, unheard`);
  if (heard) response.writeHead(answer.status, answer.headers).end(answer.body);
}

/** One notification at one address. Retries of Slack and Teams are recognised by being the same, word for word. */
export function keyOf({ channel, target, log_id, body }: Call): string {
  const what = log_id ?? createHash('sha256').update(body).digest('base64url').slice(0, 22);
  return `${channel} ${target} ${what}`;
}

function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]));
}
