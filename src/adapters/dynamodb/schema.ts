/**
 * The tables as plain data (design §4): what the infrastructure deploys, and what tests and the local set-up
 * create, so that all run on the same keys and indexes. Names of attributes are the specifications' own.
 */

export interface KeyAttribute {
  readonly name: string;
  readonly type: 'S' | 'N';
}

export interface IndexSchema {
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
  /**
   * What the index holds besides the keys. Only what never changes belongs here: a write that touches a projected
   * attribute pays for the index too.
   */
  readonly projection: 'KEYS_ONLY' | readonly string[];
}

export interface TableSchema {
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
  /** By index name. */
  readonly indexes: Readonly<Record<string, IndexSchema>>;
  /** Attribute with the expiry in epoch seconds. DynamoDB deletes days later, so readers filter what has expired. */
  readonly ttlAttribute: string;
  readonly stream?: 'NEW_IMAGE';
}

/** Sparse: a row is in it exactly while it needs work. Keys are those of core's work index. */
export const WORK_INDEX = 'work_index';
/** The copies of one notification to its recipients. */
export const NOTIFICATION_INDEX = 'notification_index';
/** The table document's other lookups, by tenant and day. */
export const HISTORY_INDEX = 'history_index';

/** Partition of pipeline_state with the breakers. */
export const BREAKER_KIND = 'breaker';
/** Partition of pipeline_state with what keys of the API have asked for in the last seconds. */
export const RATE_KIND = 'rate';

const text = (name: string): KeyAttribute => ({ name, type: 'S' });
const number = (name: string): KeyAttribute => ({ name, type: 'N' });

/** The tables by role; the names of the real tables are the environment's. */
export const TABLES = {
  notification_log: {
    partitionKey: text('log_id'),
    indexes: {
      [WORK_INDEX]: {
        partitionKey: text('work_queue'),
        sortKey: text('work_at'),
        projection: ['channel', 'priority', 'tenant_id', 'queued_for'],
      },
      [NOTIFICATION_INDEX]: {
        partitionKey: text('notification_key'),
        projection: 'KEYS_ONLY',
      },
      [HISTORY_INDEX]: {
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
  notification_content: {
    partitionKey: text('log_id'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
  notification_retry_log: {
    partitionKey: text('original_log_id'),
    sortKey: number('retry_attempt'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
  /** What the pipeline itself has to remember, small items: breakers that are not closed, recent sweeps, requests by key. */
  pipeline_state: {
    partitionKey: text('kind'),
    sortKey: text('id'),
    indexes: {},
    ttlAttribute: 'expires_at',
  },
  /** Who may use the API: hashes of keys, and what each key may do. */
  api_keys: {
    partitionKey: text('key_id'),
    indexes: {},
    ttlAttribute: 'delete_at',
  },
} as const satisfies Readonly<Record<string, TableSchema>>;

export type TableRole = keyof typeof TABLES;
