import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpServer, serve } from '../http-server.ts';
import { type Answer, type Call, respond } from './provider.ts';
import type { ReceivedLog } from './received.ts';
import type { Refusal, Verdict } from './script.ts';

/**
 * Stands before the SES stand-in, which accepts everything, and lets scripted recipients fail (script.ts: the local part
 * is the word, so `bounce@example.com` is rejected). All else goes through unchanged, its web page and `GET /store` too.
 */
export function startSesProxy(upstream: string, received: ReceivedLog, port = 0): Promise<HttpServer> {
  return serve(
    async (request, response, body) => {
      const fields =
        request.method === 'POST' && request.url === '/' ? new URLSearchParams(body.toString()) : undefined;
      if (fields === undefined || !fields.get('Action')?.startsWith('Send')) {
        return write(response, await forward(upstream, request, body));
      }
      await respond(emailCall(fields), request, response, received, async (verdict) =>
        verdict.kind === 'accept' ? forward(upstream, request, body) : refusal(verdict),
      );
    },
    port,
    'the SES stand-in',
  );
}

function emailCall(fields: URLSearchParams): Call {
  const raw = Buffer.from(fields.get('RawMessage.Data') ?? '', 'base64').toString();
  const recipient =
    fields.get('Destination.ToAddresses.member.1') ??
    fields.get('Destinations.member.1') ??
    /^To:\s*(?:.*<)?([^<>\s]+@[^<>\s]+)/im.exec(raw)?.[1] ??
    '';
  const id = tag(fields, 'log_id') ?? /^X-SES-MESSAGE-TAGS:.*\blog_id=([\w-]+)/im.exec(raw)?.[1];
  const body = raw === '' ? JSON.stringify(readable(fields)) : raw;
  return {
    channel: 'email',
    word: recipient.replace(/@.*/, ''),
    target: recipient,
    body,
    ...(id === undefined ? {} : { log_id: id }),
  };
}

function tag(fields: URLSearchParams, name: string): string | undefined {
  for (let index = 1; fields.has(`Tags.member.${index}.Name`); index++) {
    if (fields.get(`Tags.member.${index}.Name`) === name) return fields.get(`Tags.member.${index}.Value`) ?? undefined;
  }
  return undefined;
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

function refusal(verdict: Exclude<Verdict, { kind: 'drop' | 'accept' }>): Answer {
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
