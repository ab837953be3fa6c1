import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Publish } from '../../emulator/events/event-bus.ts';
import type { Answer } from '../respond.ts';
import { type ScriptedAnswer, scriptedAnswerTo } from '../scripted-answer.ts';
import type { BulkMails, BulkReceipt } from './bulk-mails.ts';
import { type BulkMail, type BulkRequest, readBulkRequest, rendered } from './bulk-request.ts';
import { isOutcome, isUnanswered, type MailEvent, outcomeOf } from './mail-outcome.ts';
import { receivedMail } from './received-mail.ts';
import type { SendingLimits } from './sending-limits.ts';
import { sesEvent } from './ses-events.ts';
import { isSender } from './ses-request.ts';

/** Milliseconds between a mail and its events. */
const EVENT_DELAY_MS = 200;
const AT_ONCE = 20;

/** The kinds of events that each configuration set publishes, by its name, as CloudFormation writes them. */
export type ConfigurationSets = Readonly<Record<string, readonly string[]>>;

/** Mails that are kept as their readers got them. */
const READABLE = 200;

type EntryResult = { readonly Status: string; readonly MessageId?: string; readonly Error?: string };

/**
 * Answers SES v2's SendBulkEmail itself, with a status for each entry, and GetEmailIdentity; undefined for any other
 * request. The local part of an address decides as for other mails: `missing` is rejected, `malformed` is an invalid
 * parameter, `flaky-2` fails twice for the time being, `unanswered` breaks the connection of the whole call after it
 * was accepted. `GET /_bulk?email_id=` lists what was accepted, and `GET /_bulk/MESSAGE_ID` shows one of the last mails
 * as its reader got it.
 */
export class SimulatedBulk {
  readonly #mails: BulkMails;
  readonly #limits: SendingLimits;
  readonly #publish: Publish;
  /** Absent: every name is one that publishes all. */
  readonly #sets: ConfigurationSets | undefined;
  readonly #readable = new Map<string, () => string>();
  #publishing = false;

  constructor(mails: BulkMails, limits: SendingLimits, publish: Publish, sets?: ConfigurationSets) {
    this.#sets = sets;
    this.#mails = mails;
    this.#limits = limits;
    this.#publish = publish;
    void this.#publishOwed();
  }

  /** @returns `drop` when the connection breaks before the answer */
  answer({ method, url = '/' }: IncomingMessage, body: Buffer): Answer | 'drop' | undefined {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (method === 'POST' && pathname === '/v2/email/outbound-bulk-emails') return this.#send(body);
    if (method === 'GET' && pathname === '/_bulk') {
      return json(200, this.#mails.list(searchParams.get('email_id') ?? undefined));
    }
    const mail = method === 'GET' ? this.#readable.get(pathname.slice('/_bulk/'.length)) : undefined;
    if (mail !== undefined) return { status: 200, headers: { 'content-type': 'message/rfc822' }, body: mail() };
    const [, identity] = /^\/v2\/email\/identities\/([^/]+)$/.exec(pathname) ?? [];
    return method === 'GET' && identity !== undefined ? identityAnswer(decodeURIComponent(identity)) : undefined;
  }

  #send(body: Buffer): Answer | 'drop' {
    const request = readBulkRequest(body);
    if (typeof request === 'string') return problem(400, 'BadRequestException', request);
    if (!isSender(request.from)) return problem(400, 'BadRequestException', "Missing final '@domain'");
    if (!isVerified(request.from)) return problem(400, 'MessageRejected', `Email address is not verified.`);
    const kinds = this.#kinds(request.configuration_set);
    if (kinds === undefined) {
      const missing = { Status: 'CONFIGURATION_SET_NOT_FOUND', Error: 'The configuration set does not exist.' };
      return json(200, { BulkEmailEntryResults: request.mails.map(() => missing) });
    }
    const tried = request.mails.map((mail) => this.#tried(mail));
    const wanted = tried.filter((answer) => answer.kind === 'accept').length;
    const exceeded = this.#limits.take(wanted, Date.now());
    if (exceeded === 'rate') return problem(429, 'TooManyRequestsException', 'Maximum sending rate exceeded.');
    if (exceeded === 'paused') return problem(400, 'SendingPausedException', 'Sending is paused for this account.');
    let room = exceeded === 'quota' ? this.#room(wanted) : wanted;
    const receipts: BulkReceipt[] = [];
    const results = request.mails.map((mail, i): EntryResult => {
      const answer = tried[i] ?? { kind: 'drop' };
      if (answer.kind !== 'accept') return refused(answer);
      if (room-- <= 0) return { Status: 'ACCOUNT_DAILY_QUOTA_EXCEEDED', Error: 'Daily message quota exceeded.' };
      const receipt = receiptOf(mail, request, kinds);
      receipts.push(receipt);
      this.#keepReadable(receipt, mail, request, kinds);
      return { Status: 'SUCCESS', MessageId: receipt.message_id };
    });
    this.#mails.accept(receipts);
    void this.#publishOwed();
    const drops = tried.some(({ kind }) => kind === 'drop') || request.mails.some(({ word }) => isUnanswered(word));
    return drops ? 'drop' : json(200, { BulkEmailEntryResults: results });
  }

  #tried({ word, to, tags }: BulkMail): ScriptedAnswer {
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(to)) return { kind: 'refuse', why: 'malformed' };
    const attempts = this.#mails.attempt(`${to} ${tags['email_id']}`);
    if (isOutcome(word)) return { kind: 'accept' };
    return scriptedAnswerTo(word, { attempts, sinceFirstMs: attempts * 1_000 }).answer;
  }

  /** What a configuration set publishes; undefined where there is none of this name. A mail may name none. */
  #kinds(set: string): readonly string[] | undefined {
    if (set === '') return [];
    return this.#sets === undefined ? [...new Set(Object.values(KIND_OF))] : this.#sets[set];
  }

  #keepReadable(receipt: BulkReceipt, mail: BulkMail, { template }: BulkRequest, kinds: readonly string[]): void {
    const tracked = { opens: kinds.includes('open'), clicks: kinds.includes('click') };
    this.#readable.set(receipt.message_id, () =>
      receivedMail(receipt, rendered(template, mail.values) ?? { subject: '', html: '', text: '' }, tracked),
    );
    const [oldest] = this.#readable.keys();
    if (this.#readable.size > READABLE && oldest !== undefined) this.#readable.delete(oldest);
  }

  /** The part of a call that the day's quota still takes. */
  #room(wanted: number): number {
    const { per_day } = this.#limits.limits;
    const room = Math.min(wanted, Math.max(0, per_day - this.#limits.sentIn24Hours(Date.now())));
    return room > 0 && this.#limits.take(room, Date.now()) === undefined ? room : 0;
  }

  /** Publishes in the order of acceptance; also what an earlier runtime owes. */
  async #publishOwed(): Promise<void> {
    if (this.#publishing) return;
    this.#publishing = true;
    for (;;) {
      await setTimeout(EVENT_DELAY_MS, undefined, { ref: false });
      const owed = this.#mails.owed.slice(0, AT_ONCE);
      if (owed.length === 0) break;
      await Promise.all(owed.map((receipt) => this.#publishEvents(receipt)));
      this.#mails.published(owed.map(({ message_id }) => message_id));
    }
    this.#publishing = false;
  }

  async #publishEvents({ at, events, ...mail }: BulkReceipt): Promise<void> {
    for (const event of events) await this.#publish(sesEvent({ ...mail, sent: new Date(at) }, event, new Date()));
  }
}

/** The names of events in a configuration set's event destination. */
const KIND_OF: Readonly<Record<Extract<MailEvent, string> | 'bounce', string>> = {
  send: 'send',
  'rendering-failure': 'renderingFailure',
  delivery: 'delivery',
  open: 'open',
  'machine-open': 'open',
  click: 'click',
  complaint: 'complaint',
  'not-spam': 'complaint',
  'suppressed-complaint': 'complaint',
  reject: 'reject',
  bounce: 'bounce',
};

/** SES publishes the events that the mail's configuration set takes. */
function receiptOf(mail: BulkMail, request: BulkRequest, kinds: readonly string[]): BulkReceipt {
  const { from, configuration_set, template } = request;
  const { to, tags, headers, word, values } = mail;
  const content = rendered(template, values);
  const now = new Date();
  const outcome = content === undefined ? (['rendering-failure'] as const) : (['send', ...outcomeOf(word, 0)] as const);
  return {
    message_id: messageId(now),
    at: now.toISOString(),
    from,
    to,
    subject: content?.subject ?? '',
    configuration_set,
    tags,
    headers,
    events: outcome.filter((event) => kinds.includes(KIND_OF[typeof event === 'string' ? event : 'bounce'])),
  };
}

/** As long as SES's ids, which are most of what a sender records of a call. */
function messageId(now: Date): string {
  return `01${now.getTime().toString(16).padStart(14, '0')}-${randomUUID()}-000000`;
}

function refused(answer: Exclude<ScriptedAnswer, { kind: 'accept' }>): EntryResult {
  switch (answer.kind) {
    case 'refuse':
      return answer.why === 'malformed'
        ? { Status: 'INVALID_PARAMETER', Error: 'Illegal address' }
        : { Status: 'MESSAGE_REJECTED', Error: 'Address blacklisted' };
    case 'error':
      return { Status: answer.code, Error: 'as asked' };
    default:
      return { Status: 'TRANSIENT_FAILURE', Error: 'as asked' };
  }
}

function isVerified(from: string): boolean {
  return !/@([\w-]+\.)*unverified\./.test(from);
}

/** Every identity is verified, except those at a domain that is called `unverified`. */
function identityAnswer(identity: string): Answer {
  if (!isVerified(`@${identity.replace(/^.*@/, '')}`)) {
    return problem(404, 'NotFoundException', `Email identity ${identity} does not exist.`);
  }
  const IdentityType = identity.includes('@') ? 'EMAIL_ADDRESS' : 'DOMAIN';
  return json(200, { IdentityType, VerifiedForSendingStatus: true, VerificationStatus: 'SUCCESS' });
}

function json(status: number, value: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function problem(status: number, type: string, message: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-amzn-errortype': type },
    body: JSON.stringify({ message }),
  };
}
