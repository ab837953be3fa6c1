import { expect } from 'vitest';
import type { BulkReceipt } from '../../../../src/local/providers/ses/bulk-mails.ts';
import type { EmailStatus, ListedRecipient, NewsletterClient } from './newsletter-client.ts';

/** What the watch saw of an email while it was sent. */
export interface Watched {
  readonly reads: number;
  readonly unanswered: number;
  readonly last: EmailStatus | undefined;
}

/**
 * Reads the status of emails all the time. At every read the states add up, the recipients stay as many, and no mail
 * that was submitted is not any more. Reads that a killed runtime does not answer are counted, and repeated.
 */
export class NewsletterWatch {
  readonly #client: NewsletterClient;
  readonly #seen = new Map<string, Watched>();
  readonly #done: Promise<void>;
  #ended = false;
  #wrong: unknown;

  constructor(client: NewsletterClient, email_ids: () => readonly string[]) {
    this.#client = client;
    this.#done = this.#watch(email_ids);
  }

  /** @throws what was wrong with a read */
  async end(): Promise<ReadonlyMap<string, Watched>> {
    this.#ended = true;
    await this.#done;
    if (this.#wrong !== undefined) throw this.#wrong;
    return this.#seen;
  }

  /** What is known now. */
  get seen(): ReadonlyMap<string, Watched> {
    if (this.#wrong !== undefined) throw this.#wrong;
    return this.#seen;
  }

  async #watch(email_ids: () => readonly string[]): Promise<void> {
    while (!this.#ended && this.#wrong === undefined) {
      for (const email_id of email_ids()) await this.#read(email_id);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  async #read(email_id: string): Promise<void> {
    const before = this.#seen.get(email_id) ?? { reads: 0, unanswered: 0, last: undefined };
    const status = await this.#client.status(email_id).catch(() => undefined);
    if (status === undefined) {
      this.#seen.set(email_id, { ...before, unanswered: before.unanswered + 1 });
      return;
    }
    this.#seen.set(email_id, { ...before, reads: before.reads + 1, last: status });
    try {
      checkRead(status, before.last);
    } catch (error) {
      this.#wrong ??= error;
    }
  }
}

function checkRead({ counts, phase }: EmailStatus, before: EmailStatus | undefined): void {
  const { recipients, pending, submitted, excluded, failed, uncertain } = counts;
  expect(pending + submitted + excluded + failed + uncertain, `the sum of ${JSON.stringify(counts)}`).toBe(recipients);
  expect(Math.min(pending, submitted, excluded, failed, uncertain)).toBeGreaterThanOrEqual(0);
  if (before === undefined || phase === 'preparing' || before.phase === 'preparing' || before.phase === 'queued')
    return;
  expect(recipients, 'the frozen recipients').toBe(before.counts.recipients);
  expect(submitted, 'submitted recipients').toBeGreaterThanOrEqual(before.counts.submitted);
}

export interface Ended {
  readonly expected: readonly string[];
  readonly recipients: readonly ListedRecipient[];
  readonly receipts: readonly BulkReceipt[];
  readonly status: EmailStatus;
}

/** The end of an email: each member in exactly one state, which is what the mailboxes tell. */
export function checkEnd({ expected, recipients, receipts, status }: Ended): void {
  expect(recipients.map(({ member_email }) => member_email).sort(), 'each member once').toEqual([...expected].sort());
  const mails = Map.groupBy(receipts, ({ to }) => to);
  const twice = [...mails].filter(([, found]) => found.length > 1).map(([to]) => to);
  expect(twice, 'nobody got the mail twice').toEqual([]);
  const counts: Record<string, number> = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };
  const wrong: string[] = [];
  for (const { member_email, state } of recipients) {
    counts[state] = (counts[state] ?? 0) + 1;
    const got = mails.has(member_email);
    if ((state === 'submitted') !== got && state !== 'uncertain') wrong.push(`${member_email} is ${state}, got ${got}`);
  }
  expect(wrong, 'states and mailboxes').toEqual([]);
  expect(status.counts).toMatchObject(counts);
  expect(counts['pending']).toBe(0);
  expect(receipts.length, 'mails').toBeLessThanOrEqual((counts['submitted'] ?? 0) + (counts['uncertain'] ?? 0));
}
