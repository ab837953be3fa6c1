import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createBatchStore } from '../../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createNewsletterStore } from '../../../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { createNewsletterQueues } from '../../../../src/adapters/sqs/newsletter-queues.ts';
import { countsOf } from '../../../../src/core/newsletter/accounting/counts.ts';
import { publishEmail } from '../../../../src/core/newsletter/lifecycle/publish.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import type { BulkReceipt } from '../../../../src/local/providers/ses/bulk-mails.ts';
import type { Flow } from '../../flow/harness.ts';

const TENANT = 'T951';
const NEWSLETTER = 'weekly';
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const clock = () => new Date();

export interface Post {
  readonly email_id: string;
  readonly subject: string;
  readonly body: string;
  readonly segment?: string;
}

/** A tenant with a newsletter, as the flow tests see it. */
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
    await this.api('PUT', `/v1/newsletters/${NEWSLETTER}`, { name: 'Weekly', from: 'Weekly <weekly@example.com>' });
    for (let start = 0; start < members.length; start += 500) {
      const some = members.slice(start, start + 500);
      await this.api('POST', '/v1/members', {
        members: some.map((member, i) => ({
          member_id: `m-${start + i}`,
          status: (start + i) % 2 === 0 ? 'free' : 'paid',
          newsletters: [NEWSLETTER],
          ...member,
        })),
      });
    }
  }

  async api(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const answer = await fetch(`${this.#flow.endpoints.endpoints.api}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async publish({ email_id, subject, body, segment }: Post): Promise<void> {
    await this.#withStores(async ({ emails, newsletters, queues }) => {
      const newsletter = await newsletters.read(TENANT, NEWSLETTER);
      if (newsletter === undefined) throw new Error('the newsletter is missing');
      await publishEmail(
        {
          email_id,
          request_hash: email_id,
          tenant_id: TENANT,
          content: { subject, body, format: 'markdown', newsletter },
          ...(segment !== undefined && { segment }),
        },
        {
          emails,
          queues,
          schedules: { create: async () => {}, remove: async () => {} },
          clock,
          limits: DEFAULT_JOB_LIMITS,
        },
      );
    });
  }

  /** The email and the sums of its batches. */
  async status(email_id: string) {
    return this.#withStores(async ({ emails, batches }) => {
      const email = await emails.read(email_id);
      return email && { email, counts: countsOf(email, await batches.list(email_id)) };
    });
  }

  /** What the local SES accepted. */
  async receipts(email_id: string): Promise<readonly BulkReceipt[]> {
    const answer = await fetch(`${this.#flow.endpoints.endpoints.ses}/_bulk?email_id=${email_id}`);
    return (await answer.json()) as BulkReceipt[];
  }

  async #withStores<T>(use: (stores: ReturnType<NewsletterClient['stores']>) => Promise<T>): Promise<T> {
    const { endpoints, region } = this.#flow.endpoints;
    const client = new DynamoDBClient({ endpoint: endpoints.dynamodb, region, credentials });
    const sqs = new SQSClient({ endpoint: endpoints.sqs, region, credentials });
    return use(this.stores(client, sqs)).finally(() => {
      client.destroy();
      sqs.destroy();
    });
  }

  private stores(client: DynamoDBClient, sqs: SQSClient) {
    const { tables, stack } = this.#flow.endpoints;
    return {
      emails: createEmailStore(client, tables.emails, clock),
      batches: createBatchStore(client, tables.email_batches, clock),
      newsletters: createNewsletterStore(client, tables.newsletters),
      queues: createNewsletterQueues(sqs, JSON.parse(stack['NewsletterQueues'] ?? '{}')),
    };
  }
}
