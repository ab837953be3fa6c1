import type { BulkReceipt } from '../../../../src/local/providers/ses/bulk-mails.ts';
import type { Flow } from '../../flow/harness.ts';

const TENANT = 'T951';
const NEWSLETTER = 'weekly';

export interface Post {
  readonly subject: string;
  readonly body: string;
  readonly segment?: string;
  readonly scheduled_at?: string;
  readonly format?: string;
}

export interface EmailStatus {
  readonly status: string;
  readonly error?: string;
  readonly phase: string;
  readonly submitted_at?: string;
  readonly counts: Readonly<
    Record<
      'recipients' | 'pending' | 'submitted' | 'excluded' | 'failed' | 'uncertain' | 'delivered' | 'unsubscribed',
      number
    >
  >;
  readonly excluded_by_reason: Readonly<Record<string, number>>;
  readonly failed_by_reason: Readonly<Record<string, number>>;
  readonly waits?: {
    readonly for: string;
    readonly until: string;
    readonly asks_at?: string;
    readonly message?: string;
  };
  readonly batches: Readonly<Record<'pending' | 'submitting' | 'submitted' | 'failed', number>>;
}

/** A recipient as `GET …/recipients` shows it. */
export interface ListedRecipient {
  readonly member_id: string;
  readonly member_email: string;
  readonly state: string;
  readonly reason?: string;
  readonly processed_at?: string;
  readonly batch_id: string;
}

/** What the API answered instead of what was asked for. */
export interface Refused {
  readonly status: number;
  readonly type: string;
  readonly detail: string;
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
    await this.setUpNewsletter();
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

  /** Makes a key and the newsletter. */
  async setUpNewsletter(changes: Readonly<Record<string, string>> = {}): Promise<void> {
    const scopes = ['--scope', 'newsletters:write', '--scope', 'newsletters:read'];
    const made = ['keys', 'create', '--tenant', TENANT, '--rate-limit', '1000', ...scopes];
    this.#key = (await this.#flow.opsJson<{ key: string }>(...made)).key;
    await this.put({ name: 'Weekly', from: 'Weekly <weekly@example.com>', ...changes });
  }

  /** Replaces the newsletter. */
  async put(newsletter: object): Promise<void> {
    await this.#api('PUT', `/v1/newsletters/${NEWSLETTER}`, newsletter);
  }

  /** Creates or changes members, as given. */
  async upsert(members: readonly object[]): Promise<void> {
    await this.#api('POST', '/v1/members', { members });
  }

  async delete(member_id: string): Promise<void> {
    await this.#api('DELETE', `/v1/members/${member_id}`);
  }

  /** Imports a file of members by the command. */
  import(file: string): Promise<Readonly<Record<string, unknown>>> {
    return this.#flow.opsJson('members', 'import', file, '--tenant', TENANT, '--newsletter', NEWSLETTER);
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

  /** Publishes a file by the command. @returns the email_id */
  async send(file: string, ...options: readonly string[]): Promise<string> {
    const key = crypto.randomUUID();
    const args = [
      'emails',
      'send',
      file,
      '--tenant',
      TENANT,
      '--newsletter',
      NEWSLETTER,
      '--idempotency-key',
      key,
      ...options,
    ];
    return (await this.#flow.opsJson<{ email_id: string }>(...args)).email_id;
  }

  /** What the API refuses. */
  async refused(path: string, body: object, method = 'POST'): Promise<Refused> {
    const answer = await this.#fetch(method, path, body);
    const { type, detail } = (await answer.json()) as Refused;
    return { status: answer.status, type, detail };
  }

  /** An operator's or producer's decision: retry, pause, resume, cancel, resolve. */
  async decide(email_id: string, what: string, body?: object): Promise<{ readonly status: string }> {
    return this.#api('POST', `/v1/emails/${email_id}/${what}`, body);
  }

  /** Every recipient that the API lists, page after page. */
  async recipients(email_id: string, state?: string): Promise<readonly ListedRecipient[]> {
    const found: ListedRecipient[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = new URLSearchParams({ limit: '500', ...(state && { state }), ...(cursor && { cursor }) });
      const page: { recipients: ListedRecipient[]; next_cursor: string | null } = await this.#api(
        'GET',
        `/v1/emails/${email_id}/recipients?${query}`,
      );
      found.push(...page.recipients);
      cursor = page.next_cursor;
    }
    return found;
  }

  get<T>(path: string): Promise<T> {
    return this.#api<T>('GET', path);
  }

  async status(email_id: string): Promise<EmailStatus> {
    return this.#api<EmailStatus>('GET', `/v1/emails/${email_id}`);
  }

  /** The tenant's emails, newest first. */
  async emails(): Promise<readonly { readonly email_id: string }[]> {
    return (await this.#api<{ emails: readonly { email_id: string }[] }>('GET', '/v1/emails')).emails;
  }

  /** What the local SES accepted. */
  async receipts(email_id: string): Promise<readonly BulkReceipt[]> {
    const answer = await fetch(`${this.#flow.endpoints.endpoints.ses}/_bulk?email_id=${email_id}`);
    return (await answer.json()) as BulkReceipt[];
  }

  #fetch(method: string, path: string, body?: object): Promise<Response> {
    return fetch(`${this.#flow.endpoints.endpoints.api}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        'content-type': 'application/json',
        ...(method === 'POST' && { 'idempotency-key': crypto.randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async #api<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.#fetch(method, path, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }
}
