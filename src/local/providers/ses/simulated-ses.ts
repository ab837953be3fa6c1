import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { fromTag } from '../../../adapters/email/message-tag.ts';
import type { Publish } from '../../emulator/events/event-bus.ts';
import { type HttpServer, serve } from '../../support/http-server.ts';
import type { ReceivedLog } from '../received.ts';
import { type Answer, type Call, keyOf, respond } from '../respond.ts';
import type { Refusal, ScriptedAnswer } from '../scripted-answer.ts';
import { fateOf, type Happening, isFate, isUnanswered } from './mail-outcome.ts';
import { type SentMail, sesEvent } from './ses-events.ts';

/** Milliseconds between a mail and its events, and between these: less than any retry waits. */
const EVENT_DELAY_MS = 200;

/**
 * Stands before the SES stand-in, which accepts everything, and lets scripted recipients fail (the local part is the word):
 * what SES says to a mail is script.ts's, what becomes of one that it took is mail-fate.ts's, and is told to `publish` if
 * the mail names a configuration set. All else goes through unchanged, its web page and `GET /store` too.
 */
export function startSimulatedSes(
  upstream: string,
  received: ReceivedLog,
  publish: Publish,
  port = 0,
): Promise<HttpServer> {
  return serve(
    async (request, response, body) => {
      const fields =
        request.method === 'POST' && request.url === '/' ? new URLSearchParams(body.toString()) : undefined;
      if (fields === undefined || !fields.get('Action')?.startsWith('Send')) {
        return write(response, await forward(upstream, request, body));
      }
      const call = emailCall(fields);
      const { word } = call;
      const fate = fateOf(word, received.history(keyOf(call)).attempts);
      await respond(isFate(word) ? { ...call, word: 'ok' } : call, request, response, received, async (verdict) => {
        if (verdict.kind !== 'accept') return refusal(verdict);
        const answer = await forward(upstream, request, body);
        void tell(sentMail(fields, call, answer), fate, publish);
        if (isUnanswered(word)) response.destroy();
        return answer;
      });
    },
    port,
    'the SES stand-in',
  );
}

/** As SES does, only of mails that name a configuration set. */
async function tell(mail: SentMail, fate: readonly Happening[], publish: Publish): Promise<void> {
  if (mail.configuration_set === '') return;
  for (const happening of fate) {
    await setTimeout(EVENT_DELAY_MS, undefined, { ref: false });
    await publish(sesEvent(mail, happening, new Date()));
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

function emailCall(fields: URLSearchParams): Call {
  const raw = Buffer.from(fields.get('RawMessage.Data') ?? '', 'base64').toString();
  const recipient =
    fields.get('Destination.ToAddresses.member.1') ??
    fields.get('Destinations.member.1') ??
    /^To:\s*(?:.*<)?([^<>\s]+@[^<>\s]+)/im.exec(raw)?.[1] ??
    '';
  const id = tagsOf(fields)['log_id'] ?? /^X-SES-MESSAGE-TAGS:.*\blog_id=([\w-]+)/im.exec(raw)?.[1];
  const body = raw === '' ? JSON.stringify(readable(fields)) : raw;
  return {
    channel: 'email',
    word: recipient.replace(/@.*/, ''),
    target: recipient,
    body,
    ...(id === undefined ? {} : { log_id: fromTag(id) }),
  };
}

function tagsOf(fields: URLSearchParams): Record<string, string> {
  const tags: Record<string, string> = {};
  for (let index = 1; fields.has(`Tags.member.${index}.Name`); index++) {
    tags[fields.get(`Tags.member.${index}.Name`) ?? ''] = fields.get(`Tags.member.${index}.Value`) ?? '';
  }
  return tags;
}

function readable(fields: URLSearchParams) {
  return {
    from: fields.get('Source'),
    subject: fields.get('Message.Subject.Data'),
    text: fields.get('Message.Body.Text.Data'),
    html: fields.get('Message.Body.Html.Data'),
    configuration_set: fields.get('ConfigurationSetName'),
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

const CODES: Readonly<Record<Refusal, readonly [code: string, message: string]>> = {
  gone: ['MessageRejected', 'Address is no longer in use'],
  missing: ['MessageRejected', 'Address blacklisted'],
  unauthorized: ['AccessDenied', 'Not authorized to perform ses:SendEmail'],
  forbidden: ['MailFromDomainNotVerifiedException', 'The MAIL FROM domain is not verified'],
  malformed: ['InvalidParameterValue', 'Illegal content'],
};

function refusal(verdict: Exclude<ScriptedAnswer, { kind: 'drop' | 'accept' }>): Answer {
  switch (verdict.kind) {
    case 'status':
      return problem(verdict.status, verdict.status < 500 ? 'Sender' : 'Receiver', 'ServiceUnavailable', 'as asked');
    case 'limit':
      return problem(400, 'Sender', 'Throttling', 'Maximum sending rate exceeded.');
    case 'refuse':
      return problem(400, 'Sender', ...CODES[verdict.why]);
    case 'error':
      return problem(400, 'Sender', verdict.code, 'as asked');
  }
}

/** An error as SES's query protocol writes it. */
function problem(status: number, type: string, code: string, message: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/xml' },
    body:
      '<ErrorResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><Error>' +
      `<Type>${type}</Type><Code>${code.replaceAll(/[^\w.]/g, '')}</Code><Message>${message}</Message>` +
      `</Error><RequestId>${randomUUID()}</RequestId></ErrorResponse>`,
  };
}
