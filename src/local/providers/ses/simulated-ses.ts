import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import * as v from 'valibot';
import { type HttpServer, serve } from '../../../http/loopback-server.ts';
import type { Publish } from '../../emulator/events/event-bus.ts';
import type { ReceivedLog } from '../received-log.ts';
import { type Answer, type Call, keyOf, respond } from '../respond.ts';
import type { Refusal, ScriptedAnswer } from '../scripted-answer.ts';
import { BulkMails } from './bulk-mails.ts';
import { isOutcome, isUnanswered, type MailEvent, outcomeOf } from './mail-outcome.ts';
import { type Exceeded, SendingLimits, type SesLimits } from './sending-limits.ts';
import { type SentMail, sesEvent } from './ses-events.ts';
import { emailCall, isSender, recipientsOf, sendFields, tagsOf } from './ses-request.ts';
import { type ConfigurationSets, SimulatedBulk } from './simulated-bulk.ts';

/** Milliseconds between a mail and its first event, and between two events: shorter than the wait for any retry. */
const EVENT_DELAY_MS = 200;

export interface SesOptions {
  readonly port?: number;
  readonly limits?: Partial<SesLimits>;
  /** Keeps what SendBulkEmail accepted, and the events that are owed for it. */
  readonly bulkFile?: string | undefined;
  readonly configurationSets?: ConfigurationSets;
}

/**
 * The local SES: a proxy in front of the SES stand-in, which accepts every mail. The local part of the recipient's
 * address decides SES's answer (scripted-answer.ts) and the events of an accepted mail (mail-outcome.ts). Events go to
 * `publish` when the mail names a configuration set. Mails beyond the account's limits are refused as SES refuses them
 * (sending-limits.ts). All other requests pass unchanged, also those for the stand-in's web page and `GET /store`.
 */
export function startSimulatedSes(
  upstream: string,
  received: ReceivedLog,
  publish: Publish,
  { port = 0, limits = {}, bulkFile, configurationSets }: SesOptions = {},
): Promise<HttpServer> {
  const sending = new SendingLimits(limits, Date.now());
  const bulk = new SimulatedBulk(new BulkMails(bulkFile), sending, publish, configurationSets);
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

const change = v.strictObject({
  per_second: v.exactOptional(v.pipe(v.number(), v.gtValue(0))),
  per_day: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(-1))),
  sending: v.exactOptional(v.boolean()),
});

/**
 * The requests about the account; undefined for any other request.
 *
 * | request | answer |
 * |---|---|
 * | `GET /v2/email/account` | GetAccount of SES v2 |
 * | `POST /` with `Action=GetSendQuota` | GetSendQuota of SES v1 |
 * | `GET /_limits` | the limits, what was sent in 24 hours, and how many calls were refused by each |
 * | `PUT /_limits` with `{"per_second"?,"per_day"?,"sending"?}` | changes them |
 */
function accountAnswer(
  { method, url }: Pick<IncomingMessage, 'method' | 'url'>,
  body: Buffer,
  sending: SendingLimits,
): Answer | undefined {
  if (method === 'GET' && url === '/v2/email/account') return json(200, account(sending));
  if (method === 'POST' && url === '/' && new URLSearchParams(body.toString()).get('Action') === 'GetSendQuota') {
    return sendQuota(sending);
  }
  if (url !== '/_limits') return undefined;
  if (method === 'PUT') {
    const wanted = v.safeParse(v.pipe(v.string(), v.parseJson(), change), body.toString());
    if (!wanted.success) {
      return json(400, {
        message: 'the limits are {"per_second"?: above 0, "per_day"?: -1 or more, "sending"?: boolean}',
      });
    }
    sending.change(wanted.output);
  }
  return json(200, { ...sending.limits, sent_24h: sending.sentIn24Hours(Date.now()), refused: sending.refused });
}

function account(sending: SendingLimits) {
  const { per_second, per_day, sending: SendingEnabled } = sending.limits;
  return {
    DedicatedIpAutoWarmupEnabled: false,
    EnforcementStatus: 'HEALTHY',
    ProductionAccessEnabled: true,
    SendQuota: {
      Max24HourSend: per_day,
      MaxSendRate: per_second,
      SentLast24Hours: sending.sentIn24Hours(Date.now()),
    },
    SendingEnabled,
  };
}

function sendQuota(sending: SendingLimits): Answer {
  const { per_second, per_day } = sending.limits;
  return {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body:
      '<GetSendQuotaResponse xmlns="http://ses.amazonaws.com/doc/2010-12-01/"><GetSendQuotaResult>' +
      `<Max24HourSend>${per_day}</Max24HourSend><MaxSendRate>${per_second}</MaxSendRate>` +
      `<SentLast24Hours>${sending.sentIn24Hours(Date.now())}</SentLast24Hours>` +
      '</GetSendQuotaResult></GetSendQuotaResponse>',
  };
}

function json(status: number, value: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(value) };
}

const CODES: Readonly<Record<Refusal, readonly [code: string, message: string]>> = {
  gone: ['MessageRejected', 'Address is no longer in use'],
  missing: ['MessageRejected', 'Address blacklisted'],
  unauthorized: ['AccessDenied', 'Not authorized to perform ses:SendEmail'],
  forbidden: ['MailFromDomainNotVerifiedException', 'The MAIL FROM domain is not verified'],
  malformed: ['InvalidParameterValue', 'Illegal content'],
};

function sesRefusal(scripted: Exclude<ScriptedAnswer, { kind: 'drop' | 'accept' }>): Answer {
  switch (scripted.kind) {
    case 'status':
      return problem(scripted.status, scripted.status < 500 ? 'Sender' : 'Receiver', 'ServiceUnavailable', 'as asked');
    case 'limit':
      return problem(400, 'Sender', 'Throttling', 'Maximum sending rate exceeded.');
    case 'refuse':
      return problem(400, 'Sender', ...CODES[scripted.why]);
    case 'error':
      return problem(400, 'Sender', scripted.code, 'as asked');
  }
}

const LIMITS: Readonly<Record<Exceeded, readonly [code: string, message: string]>> = {
  rate: ['Throttling', 'Maximum sending rate exceeded.'],
  quota: ['Throttling', 'Daily message quota exceeded.'],
  paused: ['AccountSendingPausedException', 'Email sending is disabled for the account'],
};

/** SES's answer to a mail beyond one of the account's limits. */
const limitRefusal = (exceeded: Exceeded): Answer => problem(400, 'Sender', ...LIMITS[exceeded]);

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
