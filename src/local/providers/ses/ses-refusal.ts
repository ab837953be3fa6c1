import { randomUUID } from 'node:crypto';
import type { Answer } from '../respond.ts';
import type { Refusal, ScriptedAnswer } from '../scripted-answer.ts';
import type { Exceeded } from './sending-limits.ts';

const CODES: Readonly<Record<Refusal, readonly [code: string, message: string]>> = {
  gone: ['MessageRejected', 'Address is no longer in use'],
  missing: ['MessageRejected', 'Address blacklisted'],
  unauthorized: ['AccessDenied', 'Not authorized to perform ses:SendEmail'],
  forbidden: ['MailFromDomainNotVerifiedException', 'The MAIL FROM domain is not verified'],
  malformed: ['InvalidParameterValue', 'Illegal content'],
};

/** SES's answer to a mail that it does not accept. */
export function sesRefusal(scripted: Exclude<ScriptedAnswer, { kind: 'drop' | 'accept' }>): Answer {
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
export function limitRefusal(exceeded: Exceeded): Answer {
  return problem(400, 'Sender', ...LIMITS[exceeded]);
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
