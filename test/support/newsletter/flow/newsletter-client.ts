import type { BulkReceipt } from '../../../../src/local/providers/ses/bulk-mails.ts';
import type { Flow } from '../../flow/harness.ts';

const TENANT = 'T951';
const NEWSLETTER = 'weekly';

export interface Post {
  readonly subject: string;
  readonly body: string;
  readonly segment?: string;
  readonly scheduled_at?: string;
}

export interface EmailStatus {
  readonly status: string;
  readonly error?: string;
  readonly counts: Readonly<
    Record<'recipients' | 'pending' | 'submitted' | 'excluded' | 'failed' | 'uncertain' | 'delivered', number>
  >;
}

/** A tenant with a newsletter, as a producer sees it. */
export class NewsletterClient {
  readonly #flow: Flow;
  #key = '';

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  /** Makes the newsletter and its members. */
  async setUp(members: readonly { readonly email: string; readonly name?: string }[]): Promise<void> {
    const scopes = ['--scope', 'newsletters:write', '--scope', 'newsletters:read'];
    const made = ['keys', 'create', '--tenant', TENANT, '--rate-limit', '1000', ...scopes];
    this.#key = (await this.#flow.opsJson<{ key: string }>(...made)).key;
    await this.#api('PUT', `/v1/newsletters/${NEWSLETTER}`, { name: 'Weekly', from: 'Weekly <weekly@example.com>' });
    for (let start = 0; start < members.length; start += 500) {
      const some = members.slice(start, start + 500).map((member, i) => ({
        member_id: `m-${start + i}`,
        status: (start + i) % 2 === 0 ? 'free' : 'paid',
        newsletters: [NEWSLETTER],
        ...member,
      }));
      await this.#api('POST', '/v1/members', { members: some });
    }
  }

  /** @returns the email_id */
  async publish(post: Post): Promise<string> {
    const { email_id } = await this.#api<{ email_id: string }>('POST', '/v1/emails', {
      newsletter_id: NEWSLETTER,
      format: 'markdown',
      ...post,
    });
    return email_id;
  }

  async status(email_id: string): Promise<EmailStatus> {
    return this.#api<EmailStatus>('GET', `/v1/emails/${email_id}`);
  }

  /** What the local SES accepted. */
  async receipts(email_id: string): Promise<readonly BulkReceipt[]> {
    const answer = await fetch(`${this.#flow.endpoints.endpoints.ses}/_bulk?email_id=${email_id}`);
    return (await answer.json()) as BulkReceipt[];
  }

  async #api<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${this.#flow.endpoints.endpoints.api}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        'content-type': 'application/json',
        ...(method === 'POST' && { 'idempotency-key': crypto.randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }
}
