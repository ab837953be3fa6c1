import { randomUUID } from 'node:crypto';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../emulator/template/references.ts';
import type { JsonObject } from '../../support/json.ts';
import type { Bounce, MailEvent } from './mail-outcome.ts';

/** An accepted mail as SES's events describe it, with the data that must not reach logs or queues. */
export interface SentMail {
  readonly message_id: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly configuration_set: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly sent: Date;
}

interface Kind {
  readonly detailType: string;
  readonly eventType: string;
  /** Key in `detail` under which the data of this kind is. */
  readonly part: string;
}

const KINDS: Readonly<Record<Exclude<MailEvent, Bounce> | 'bounce', Kind>> = {
  send: { detailType: 'Email Sent', eventType: 'Send', part: 'send' },
  'rendering-failure': { detailType: 'Email Rendering Failed', eventType: 'Rendering Failure', part: 'failure' },
  click: { detailType: 'Email Clicked', eventType: 'Click', part: 'click' },
  delivery: { detailType: 'Email Delivered', eventType: 'Delivery', part: 'delivery' },
  open: { detailType: 'Email Opened', eventType: 'Open', part: 'open' },
  'machine-open': { detailType: 'Email Opened', eventType: 'Open', part: 'open' },
  complaint: { detailType: 'Email Complaint Received', eventType: 'Complaint', part: 'complaint' },
  'not-spam': { detailType: 'Email Complaint Received', eventType: 'Complaint', part: 'complaint' },
  'suppressed-complaint': { detailType: 'Email Complaint Received', eventType: 'Complaint', part: 'complaint' },
  reject: { detailType: 'Email Rejected', eventType: 'Reject', part: 'reject' },
  bounce: { detailType: 'Email Bounced', eventType: 'Bounce', part: 'bounce' },
};

/** An event as SES publishes it to EventBridge's default bus. */
export function sesEvent(mail: SentMail, event: MailEvent, now: Date): JsonObject {
  const { detailType, eventType, part } = KINDS[typeof event === 'string' ? event : 'bounce'];
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': detailType,
    source: 'aws.ses',
    account: LOCAL_ACCOUNT,
    time: now.toISOString().replace(/\.\d+Z$/, 'Z'),
    region: LOCAL_REGION,
    resources: [`arn:aws:ses:${LOCAL_REGION}:${LOCAL_ACCOUNT}:configuration-set/${mail.configuration_set}`],
    detail: { eventType, mail: mailPart(mail), [part]: ownPart(mail, event, now) },
  };
}

function mailPart({ message_id, from, to, subject, configuration_set, tags, sent }: SentMail): JsonObject {
  return {
    timestamp: sent.toISOString(),
    source: from,
    sendingAccountId: LOCAL_ACCOUNT,
    messageId: message_id,
    destination: [to],
    headersTruncated: false,
    headers: Object.entries({ From: from, To: to, Subject: subject }).map(([name, value]) => ({ name, value })),
    commonHeaders: { from: [from], to: [to], messageId: message_id, subject },
    tags: {
      'ses:operation': ['SendEmail'],
      'ses:configuration-set': [configuration_set],
      'ses:source-ip': ['127.0.0.1'],
      'ses:from-domain': [from.split('@').at(-1) ?? ''],
      'ses:caller-identity': ['local'],
      ...Object.fromEntries(Object.entries(tags).map(([name, value]) => [name, [value]])),
    },
  };
}

function ownPart({ to, sent }: SentMail, event: MailEvent, now: Date): JsonObject {
  const timestamp = now.toISOString();
  switch (event) {
    case 'send':
      return {};
    case 'rendering-failure':
      return { errorMessage: 'Attribute is not present in the rendering data.', templateName: 'inline' };
    case 'click':
      return { timestamp, ipAddress: '192.0.2.1', userAgent: 'Mozilla/5.0', link: 'https://example.com/' };
    case 'delivery':
      return {
        timestamp,
        processingTimeMillis: now.getTime() - sent.getTime(),
        recipients: [to],
        smtpResponse: '250 2.6.0 Message received',
        reportingMTA: 'mta.example.com',
      };
    case 'open':
      return { timestamp, ipAddress: '192.0.2.1', userAgent: 'Mozilla/5.0' };
    case 'machine-open':
      return { timestamp, ipAddress: '192.0.2.1', userAgent: 'GoogleImageProxy', isBotEvent: 'Likely' };
    case 'complaint':
      return { ...complaintOf(to, timestamp), complaintFeedbackType: 'abuse' };
    case 'not-spam':
      return { ...complaintOf(to, timestamp), complaintFeedbackType: 'not-spam' };
    case 'suppressed-complaint':
      return { ...complaintOf(to, timestamp), complaintSubType: 'OnAccountSuppressionList' };
    case 'reject':
      return { reason: 'Bad content' };
    default:
      return {
        timestamp,
        bounceType: event.type,
        bounceSubType: event.subType,
        bouncedRecipients: [{ emailAddress: to, ...reportOf(to, event) }],
        feedbackId: randomUUID(),
        reportingMTA: 'dns; mta.example.com',
      };
  }
}

function complaintOf(to: string, timestamp: string): JsonObject {
  return {
    timestamp,
    complainedRecipients: [{ emailAddress: to }],
    feedbackId: randomUUID(),
    complaintSubType: null,
    arrivalDate: timestamp,
  };
}

/** What a receiving server's report adds to a bounced recipient. */
function reportOf(to: string, { status, diagnostic }: Bounce): JsonObject {
  return status === undefined
    ? {}
    : { action: 'failed', status, ...(diagnostic && { diagnosticCode: diagnostic(to) }) };
}
