import type { Clock } from '../../../core/model/time.ts';
import type { Batch } from '../../../core/newsletter/model/batch.ts';
import { EXCLUDED_BATCH } from '../../../core/newsletter/model/batch.ts';
import type { BatchEvents } from '../../../core/newsletter/model/delivery-bits.ts';
import type { Email, EmailContent } from '../../../core/newsletter/model/email.ts';
import type { BatchStore, EmailStore, EventStore } from '../../../core/newsletter/model/ports.ts';
import { VersionedItems } from './versioned-items.ts';

const PAGE = 50;

/** The tables emails and email_batches in memory: twins of the DynamoDB stores that give the same answers. */
export class MemoryEmails {
  readonly #rows = new VersionedItems<Email>();
  readonly #contents = new Map<string, EmailContent>();
  readonly #batches = new VersionedItems<Batch>();
  readonly #events = new VersionedItems<BatchEvents>();
  readonly #now: () => string;

  constructor(clock: Clock) {
    this.#now = () => clock().toISOString();
  }

  readonly emails: EmailStore = {
    create: async (email, content) => {
      const { email_id } = email;
      if (!this.#contents.has(email_id)) this.#contents.set(email_id, structuredClone(content));
      if (this.#rows.get(email_id) === undefined) this.#rows.put(email_id, email);
      return this.#rows.get(email_id) ?? email;
    },
    read: async (email_id) => this.#rows.get(email_id),
    content: async (email_id) => this.#contents.get(email_id),
    change: async (email, { set, remove = [] }) =>
      this.#rows.change(email.email_id, email, { set: { ...set, updated_at: this.#now() }, remove }),
    list: async (tenant_id, cursor) => {
      const place = ({ created_at, email_id }: Email) => `${created_at} ${email_id}`;
      const all = this.#rows
        .list()
        .filter((email) => email.tenant_id === tenant_id && (cursor === undefined || place(email) < cursor))
        .sort((a, b) => (place(a) < place(b) ? 1 : -1));
      const emails = all.slice(0, PAGE);
      const last = emails.at(-1);
      return { emails, ...(all.length > PAGE && last && { next_cursor: place(last) }) };
    },
    due: async (now, limit) => {
      const waiting = this.#rows.list().flatMap((email) => {
        const { active, next_at } = email;
        return active !== undefined && next_at !== undefined && next_at <= now ? [{ email, next_at }] : [];
      });
      const sorted = waiting.sort((a, b) => (a.next_at < b.next_at ? -1 : 1));
      return sorted.slice(0, limit).map(({ email }) => email);
    },
  };

  readonly batches: BatchStore = {
    put: async (batch) => this.#batches.put(`${batch.email_id}#${batch.batch_id}`, batch),
    read: async (email_id, batch_id) => this.#batches.get(`${email_id}#${batch_id}`),
    list: async (email_id) => this.#batches.list(`${email_id}#`),
    from: async (email_id, batch_id, limit) =>
      this.#batches
        .list(`${email_id}#`)
        .filter((batch) => batch.batch_id >= batch_id && batch.batch_id !== EXCLUDED_BATCH)
        .slice(0, limit),
    change: async (batch, { set, remove = [] }) =>
      this.#batches.change(`${batch.email_id}#${batch.batch_id}`, batch, {
        set: { ...set, updated_at: this.#now() },
        remove,
      }),
    remove: async (email_id, batch_ids) => {
      for (const batch_id of batch_ids) this.#batches.delete(`${email_id}#${batch_id}`);
    },
  };

  readonly events: EventStore = {
    read: async (email_id, batch_id) =>
      this.#events.get(`${email_id}#${batch_id}`) ?? { email_id, batch_id, version: 0, bits: {} },
    change: async (events, bits) => {
      const { email_id, batch_id } = events;
      const key = `${email_id}#${batch_id}`;
      if (events.version === 0 && this.#events.get(key) === undefined) {
        this.#events.put(key, { email_id, batch_id, version: 1, bits });
        return this.#events.get(key);
      }
      return this.#events.change(key, events, { set: { bits } });
    },
    list: async (email_id) => this.#events.list(`${email_id}#`),
  };
}
