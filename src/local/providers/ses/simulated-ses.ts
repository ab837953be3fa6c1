import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type HttpServer, serve } from '../../../http/loopback-server.ts';
import type { Publish } from '../../emulator/events/event-bus.ts';
import type { ReceivedLog } from '../received-log.ts';
import { type Answer, type Call, keyOf, respond } from '../respond.ts';
import { accountAnswer } from './account-answers.ts';
import { BulkMails } from './bulk-mails.ts';
import { isOutcome, isUnanswered, type MailEvent, outcomeOf } from './mail-outcome.ts';
import { SendingLimits, type SesLimits } from './sending-limits.ts';
import { type SentMail, sesEvent } from './ses-events.ts';
import { limitRefusal, sesRefusal } from './ses-refusal.ts';
import { emailCall, isSender, recipientsOf, sendFields, tagsOf } from './ses-request.ts';
import { SimulatedBulk } from './simulated-bulk.ts';

/** Milliseconds between a mail and its first event, and between two events: shorter than the wait for any retry. */
const EVENT_DELAY_MS = 200;

export interface SesOptions {
  readonly port?: number;
  readonly limits?: Partial<SesLimits>;
  /** Keeps what SendBulkEmail accepted, and the events that are owed for it. */
  readonly bulkFile?: string | undefined;
}

/**
 * The local SES: a proxy in front of the SES stand-in, which accepts every mail. The local part of the recipient's
 * address decides SES's answer (scripted-answer.ts) and the events of an accepted mail (mail-outcome.ts). Events go to
 * `publish` when the mail names a configuration set. Mails beyond the account's limits are refused as SES refuses them
 * (account-answers.ts). All other requests pass unchanged, also those for the stand-in's web page and `GET /store`.
 */
export function startSimulatedSes(
  upstream: string,
  received: ReceivedLog,
  publish: Publish,
  { port = 0, limits = {}, bulkFile }: SesOptions = {},
): Promise<HttpServer> {
  const sending = new SendingLimits(limits, Date.now());
  const bulk = new SimulatedBulk(new BulkMails(bulkFile), sending, publish);
  return serve(
    async (request, response, body) => {
      const account = accountAnswer(request, body, sending);
      if (account !== undefined) return write(response, account);
      const bulkAnswer = bulk.answer(request, body);
      if (bulkAnswer === 'drop') return void request.socket.destroy();
      if (bulkAnswer !== undefined) return write(response, bulkAnswer);
      const fields = sendFields(request.method, request.url, body);
      if (fields === undefined) return write(response, await forward(upstream, request, body));
      const source = fields.get('Source');
      if (source !== null && !isSender(source)) {
        return write(response, sesRefusal({ kind: 'refuse', why: 'malformed' }));
      }
      const call = emailCall(fields);
      const { word } = call;
      const outcome = outcomeOf(word, received.history(keyOf(call)).attempts);
      const answered = isOutcome(word) ? { ...call, word: 'ok' } : call;
      await respond(answered, request, response, received, async (scripted) => {
        if (scripted.kind !== 'accept') return sesRefusal(scripted);
        const exceeded = sending.take(recipientsOf(fields), Date.now());
        if (exceeded !== undefined) return limitRefusal(exceeded);
        const answer = await forward(upstream, request, body);
        void publishEvents(sentMail(fields, call, answer), outcome, publish);
        if (isUnanswered(word)) response.destroy();
        return answer;
      });
    },
    port,
    'the SES stand-in',
  );
}

/** As SES does, publishes events only for mails that name a configuration set. */
async function publishEvents(mail: SentMail, outcome: readonly MailEvent[], publish: Publish): Promise<void> {
  if (mail.configuration_set === '') return;
  for (const event of outcome) {
    await setTimeout(EVENT_DELAY_MS, undefined, { ref: false });
    await publish(sesEvent(mail, event, new Date()));
  }
}

function sentMail(fields: URLSearchParams, { target }: Call, { body }: Answer): SentMail {
  return {
    message_id: /<MessageId>([^<]+)</.exec(body)?.[1] ?? randomUUID(),
    from: fields.get('Source') ?? '',
    to: target,
    subject: fields.get('Message.Subject.Data') ?? '',
    configuration_set: fields.get('ConfigurationSetName') ?? '',
    tags: tagsOf(fields),
    sent: new Date(),
  };
}

async function forward(upstream: string, request: IncomingMessage, body: Buffer): Promise<Answer> {
  const { authorization = '', 'content-type': contentType = '' } = request.headers;
  const answer = await fetch(`${upstream}${request.url}`, {
    method: request.method ?? 'GET',
    headers: { authorization, 'content-type': contentType },
    ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
  });
  const type = answer.headers.get('content-type') ?? 'text/plain';
  return { status: answer.status, headers: { 'content-type': type }, body: await answer.text() };
}

function write(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, answer.headers).end(answer.body);
}
