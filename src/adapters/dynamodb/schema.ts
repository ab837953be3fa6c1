/**
 * The tables as plain data. The infrastructure, the tests and the local runtime create their tables from
 * it, so all have the same keys and indexes. The attribute names are those of the specifications.
 */

export interface KeyAttribute {
  readonly name: string;
  readonly type: 'S' | 'N';
}

export interface IndexSchema {
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
  /**
   * The attributes that the index holds besides the keys. Only attributes that never change belong here: a write that
   * changes a projected attribute pays for the index, too.
   */
  readonly projection: 'KEYS_ONLY' | readonly string[];
}

export interface TableSchema {
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
  readonly indexes: Readonly<Record<string, IndexSchema>>;
  /** Expiry in epoch seconds; absent: items stay. DynamoDB deletes days later, so readers skip what has expired. */
  readonly ttlAttribute?: string;
  readonly stream?: 'NEW_IMAGE' | 'NEW_AND_OLD_IMAGES';
}

/** With the stream that outcomes read. NotificationLog has its own: AWS changes the view of no live stream. */
export const withChanges = (schema: TableSchema): TableSchema => ({ ...schema, stream: 'NEW_AND_OLD_IMAGES' });

/** A sparse index: a row is in it exactly while it needs work. Its keys come from core's work index. */
export const WORK_INDEX = 'work_index' satisfies keyof typeof TABLES.notification_log.indexes;
/** Finds the copies of one notification to its recipients. */
export const NOTIFICATION_INDEX = 'notification_index' satisfies keyof typeof TABLES.notification_log.indexes;
/** Serves the other lookups of the table document, by tenant and day. */
export const HISTORY_INDEX = 'history_index' satisfies keyof typeof TABLES.notification_log.indexes;

/** The partition of pipeline_state that holds the breakers. */
export const BREAKER_KIND = 'breaker';
/** The partition of pipeline_state that holds the budgets: an item for e-mail, and one per receiver, which expires. */
export const BUDGET_KIND = 'budget';
/** What the partitions of pipeline_state begin with that count the last seconds' requests, one per API key. */
export const RATE_PREFIX = 'rate#';

/** The partition of pipeline_state that holds how many shards the indexes ever had: one item, without an expiry. */
export const SHARDS_KIND = 'shards';
/** The partition of pipeline_state that holds the warming of newsletters' sending domains. */
export const WARMING_KIND = 'warming';
/** What the partitions of newsletters begin with that say as whom a tenant may write. */
export const SENDERS_PREFIX = 'senders#';

/** The partition of pipeline_state that holds the bulk operations of console and `ops`. */
export const OPERATION_KIND = 'operation';
/** The stage's latest verification: one item. */
export const VERIFICATION_KIND = 'verification';

/* @__NO_SIDE_EFFECTS__ */
const text = (name: string): KeyAttribute => ({ name, type: 'S' });
/* @__NO_SIDE_EFFECTS__ */
const number = (name: string): KeyAttribute => ({ name, type: 'N' });

/** The tables by role. The environment names the real tables. */
export const TABLES = {
  notification_log: {
    partitionKey: text('log_id'),
    indexes: {
      work_index: {
        partitionKey: text('work_queue'),
        sortKey: text('work_at'),
        projection: ['channel', 'priority', 'tenant_id', 'queued_for'],
      },
      notification_index: { partitionKey: text('notification_key'), projection: 'KEYS_ONLY' },
      history_index: {
        partitionKey: text('history_bucket'),
        sortKey: text('tenant_created_at'),
        projection: [
          'tenant_id',
          'channel',
          'priority',
          'created_at',
          'scheduled_at',
          'notification_type',
          'recipient_hash',
        ],
      },
    },
    ttlAttribute: 'expires_at',
    stream: 'NEW_IMAGE',
  },
  notification_content: { partitionKey: text('log_id'), indexes: {}, ttlAttribute: 'expires_at' },
  notification_retry_log: {
    partitionKey: text('original_log_id'),
    sortKey: number('retry_attempt'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
  /** Small items of the pipeline itself: breakers that are not closed, recent sweeps, request counts per key. */
  pipeline_state: { partitionKey: text('kind'), sortKey: text('id'), indexes: {}, ttlAttribute: 'expires_at' },
  /** The keys of the API: their hashes, and what each key may do. */
  api_keys: { partitionKey: text('key_id'), indexes: {}, ttlAttribute: 'delete_at' },
  /**
   * Who did what in the console. `bucket` is a day, `item` a time and the id of the entry; or `request#<id>` for what a
   * request was answered, so that its repetition does nothing again.
   */
  audit: { partitionKey: text('bucket'), sortKey: text('item'), indexes: {}, ttlAttribute: 'expires_at' },
  /** The data keys of each tenant, wrapped by KMS. Without them nothing that was sealed can be read, so none expires. */
  data_keys: { partitionKey: text('tenant_id'), sortKey: text('key_id'), indexes: {} },
} as const satisfies Readonly<Record<string, TableSchema>>;

/** The emails of a tenant, newest first. */
export const TENANT_EMAILS_INDEX = 'tenant_index' satisfies keyof typeof NEWSLETTER_TABLES.emails.indexes;
/** A sparse index: the emails for which something has to be done, by when. */
export const ACTIVE_EMAILS_INDEX = 'active_index' satisfies keyof typeof NEWSLETTER_TABLES.emails.indexes;

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
  members: { partitionKey: text('shard'), sortKey: text('item'), indexes: {}, ttlAttribute: 'expires_at' },
  /** Two items per email: `part` is `row`, or `content`, so that a change of the row costs one write unit. */
  emails: {
    partitionKey: text('email_id'),
    sortKey: text('part'),
    indexes: {
      tenant_index: { partitionKey: text('tenant_id'), sortKey: text('created_at'), projection: 'KEYS_ONLY' },
      active_index: { partitionKey: text('active'), sortKey: text('next_at'), projection: 'KEYS_ONLY' },
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
