import { randomUUID } from 'node:crypto';
import { SES_SAMPLES } from '../tools/ses-samples.ts';
import { TEST_SOURCE, withIndexedNames } from './adapt-template.ts';
import type { ApiRequest, DeployedStack, SentMail } from './deployed-stack.ts';
import { until } from './until.ts';

/** The status of an email, as far as the tests read it. */
export interface EmailAnswer {
  readonly email_id: string;
  readonly status: string;
  readonly phase: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** A producer of newsletters with a key of its own. */
export class NewsletterCalls {
  readonly #stack: DeployedStack;
  #key = '';

  constructor(stack: DeployedStack) {
    this.#stack = stack;
  }

  /** Makes the key, as the README says. */
  async start(): Promise<void> {
    const scopes = ['--scope', 'newsletters:read', '--scope', 'newsletters:write'];
    this.#key = (await this.#stack.npm('ops', ['keys', 'create', '--tenant', 'TENANT001', ...scopes])).trim();
  }

  async call<T = unknown>(method: ApiRequest['method'], path: string, body?: object): Promise<T> {
    const headers = {
      authorization: `Bearer ${this.#key}`,
      'content-type': 'application/json',
      ...(method === 'POST' && { 'idempotency-key': randomUUID() }),
    };
    const answer = await this.#stack.api({ method, path, headers, ...(body && { body }) });
    if ((answer.status ?? 500) >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body) as T;
  }

  ended(email_id: string): Promise<EmailAnswer> {
    return until(`${email_id} has ended`, async () => {
      const email = await this.call<EmailAnswer>('GET', `/v1/emails/${email_id}`);
      return ['submitted', 'failed'].includes(email.status) && email;
    });
  }

  /** The mails with this subject, by address. */
  async mails(subject: string): Promise<ReadonlyMap<string, SentMail>> {
    const sent = (await this.#stack.mails()).filter((mail) => mail.Subject === subject);
    return new Map(sent.map((mail) => [mail.To[0] ?? '', mail]));
  }

  /** Publishes an event of SES's form about a mail. */
  async publish(kind: keyof typeof SES_SAMPLES, link: string): Promise<void> {
    const [email_id = '', batch = '', chunk = '', n = ''] = link.slice(link.lastIndexOf('/') + 1).split('.');
    const { detail, 'detail-type': DetailType } = SES_SAMPLES[kind];
    const tags = {
      'ses:configuration-set': ['notification-retry-dev-newsletters'],
      email_id: [email_id],
      chunk: [`${batch}-${chunk}`],
      n: [n],
    };
    const event = withIndexedNames(JSON.parse(JSON.stringify({ ...detail, mail: { ...detail.mail, tags } })));
    const entry = { Source: TEST_SOURCE, DetailType, Detail: JSON.stringify(event) };
    await this.#stack.aws(['events', 'put-events', '--entries', JSON.stringify([entry])]);
  }
}
