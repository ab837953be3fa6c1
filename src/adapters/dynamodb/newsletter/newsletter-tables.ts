import type { KeyAttribute, TableSchema } from '../schema.ts';

/** The tables of newsletters as plain data, like those in ../schema.ts. */

/** The emails of a tenant, newest first. */
export const TENANT_EMAILS_INDEX = 'tenant_index';
/** A sparse index: the emails for which something has to be done, by when. */
export const ACTIVE_EMAILS_INDEX = 'active_index';

const text = (name: string): KeyAttribute => ({ name, type: 'S' });

export const NEWSLETTER_TABLES = {
  newsletters: {
    partitionKey: text('tenant_id'),
    sortKey: text('newsletter_id'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
  /**
   * Members, and the facts of their addresses. `shard` = `<tenant_id>#<first character of email_hash>`, `item` =
   * `<email_hash>#m#<member_id>` or `<email_hash>#facts`: one ordered read finds repeated and suppressed addresses. For
   * each member_id a pointer: `shard` = `<tenant_id>#id#<character>`, `item` = member_id.
   */
  members: {
    partitionKey: text('shard'),
    sortKey: text('item'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
  /** Two items per email: `part` is `row`, or `content`, so that a change of the row costs one write unit. */
  emails: {
    partitionKey: text('email_id'),
    sortKey: text('part'),
    indexes: {
      [TENANT_EMAILS_INDEX]: {
        partitionKey: text('tenant_id'),
        sortKey: text('created_at'),
        projection: 'KEYS_ONLY',
      },
      [ACTIVE_EMAILS_INDEX]: {
        partitionKey: text('active'),
        sortKey: text('next_at'),
        projection: 'KEYS_ONLY',
      },
    },
    ttlAttribute: 'expires_at',
  },
  /** `batch_id` is a batch's number, or `events#<number>` for what events reported of its recipients. */
  email_batches: {
    partitionKey: text('email_id'),
    sortKey: text('batch_id'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
  /** `chunk` is `00007` for the recipients of a chunk, sealed, and `state#00007` for their small state. */
  email_recipients: {
    partitionKey: text('email_batch'),
    sortKey: text('chunk'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
} as const satisfies Readonly<Record<string, TableSchema>>;

export type NewsletterTableRole = keyof typeof NEWSLETTER_TABLES;
