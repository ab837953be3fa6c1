import { jsonLines } from '../../support/running.ts';
import type { MailEvent } from './mail-outcome.ts';
import type { SentMail } from './ses-events.ts';

/** A newsletter mail that the local SES accepted. */
export interface BulkReceipt extends Omit<SentMail, 'sent'> {
  readonly at: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Events that happen to it, in order. */
  readonly events: readonly MailEvent[];
}

type Line = { readonly accepted: readonly BulkReceipt[] } | { readonly published: readonly string[] };

/** Most receipts in memory. The file has them all. */
const KEPT = 50_000;

/**
 * The accepted mails of SendBulkEmail, and the events that are owed for them. With a file both survive the death of the
 * runtime: a receipt is written before the answer, and an event counts as published after it was. An event whose mark
 * got lost is published again, as SES does now and then.
 */
export class BulkMails {
  readonly #append: (line: Line) => void;
  #receipts: BulkReceipt[] = [];
  readonly #attempts = new Map<string, number>();
  readonly #owed = new Map<string, BulkReceipt>();

  constructor(file?: string) {
    const { before, append } = jsonLines<Line>(file);
    this.#append = append;
    for (const line of before) this.#apply(line);
  }

  accept(accepted: readonly BulkReceipt[]): void {
    if (accepted.length > 0) this.#write({ accepted });
  }

  /** Accepted mails whose events are not published yet. */
  get owed(): readonly BulkReceipt[] {
    return [...this.#owed.values()];
  }

  published(message_ids: readonly string[]): void {
    this.#write({ published: message_ids });
  }

  list(email_id?: string): readonly BulkReceipt[] {
    return this.#receipts.filter(({ tags }) => email_id === undefined || tags['email_id'] === email_id);
  }

  /** Counts a try at an address. @returns the number of earlier ones */
  attempt(key: string): number {
    const earlier = this.#attempts.get(key) ?? 0;
    this.#attempts.set(key, earlier + 1);
    return earlier;
  }

  #write(line: Line): void {
    this.#append(line);
    this.#apply(line);
  }

  #apply(line: Line): void {
    if ('published' in line) {
      for (const id of line.published) this.#owed.delete(id);
      return;
    }
    for (const receipt of line.accepted) {
      this.#receipts.push(receipt);
      if (receipt.events.length > 0) this.#owed.set(receipt.message_id, receipt);
    }
    if (this.#receipts.length > KEPT) this.#receipts = this.#receipts.slice(-KEPT);
  }
}
