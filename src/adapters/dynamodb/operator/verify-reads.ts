import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { ForeignRow } from '../../../core/model/notification.ts';
import { workPartitions } from '../../../core/model/work-index.ts';
import { type Page, SEGMENTS, type VerifyPorts } from '../../../core/verify/verification.ts';
import { TENANT_EMAILS_INDEX, WORK_INDEX } from '../schema.ts';
import { projection, toForeignRow } from '../table/item.ts';
import { getItems, type QueryPage, queryPages, scan } from '../table/reads.ts';

interface Tables {
  readonly notification_log: string;
  readonly notification_content: string;
  readonly notification_retry_log: string;
}

/** Rows per request: a page of ours is about 50 read units. */
const PAGE_SIZE = 500;
/** Emails per request: each may have a thousand batches, and a process that is stopped recounts the page. */
const EMAILS_PAGE = 10;

/** What the rules ask of a row: less to read than the row, at the same price. */
const ROW = [
  ...['log_id', 'tenant_id', 'channel', 'priority', 'send_status', 'failure_reason', 'work_queue', 'work_at'],
  ...['created_at', 'tenant_created_at', 'expires_at', 'created_by', 'is_deleted', 'erased_at', 'claim_id'],
  ...['send_attempts', 'max_retry_count', 'last_attempt', 'record_due', 'delivery_by_attempt', 'delivered_at'],
  ...[
    'life',
    'predecessor_log_id',
    'successor_log_id',
    'dead_message_id',
    'dead_run_id',
    'dead_enqueued_at',
    'dead_sent_at',
  ],
  ...[
    'recipient_address',
    'subject',
    'message_body',
    'fallback_recipient',
    'attempts_left',
    'updated_by',
    'updated_at',
  ],
  ...['scheduled_at', 'next_retry_at', 'first_attempt_at', 'history_bucket'],
  ...['message_format', 'fallback_channel', 'fallback_integration_config_id'],
];

const CONTENT = ['log_id', 'tenant_id', 'expires_at', 'accepted_at', 'erased_at'];

const pageOf = ({ items, ...page }: QueryPage): Page => ({ ...page, items: items.map(toForeignRow) });

async function allOf(pages: AsyncIterable<QueryPage>): Promise<Page> {
  const all = { items: [] as ForeignRow[], read_units: 0 };
  for await (const { items, read_units } of pages) {
    all.items.push(...items.map(toForeignRow));
    all.read_units += read_units;
  }
  return all;
}

/** A whole table by parallel segments, a page at a time; it may be a second old. */
function scanOf(client: DynamoDBClient, TableName: string, columns: readonly string[]): VerifyPorts['rows']['page'] {
  return async (Segment, after) => {
    const input = { TableName, Segment, TotalSegments: SEGMENTS, Limit: PAGE_SIZE, ...projection(columns) };
    return pageOf(await scan(client, input, after));
  };
}

/** @param shards of the work index, as many as the stage ever had */
export function createVerifyReads(
  client: DynamoDBClient,
  tables: Tables,
  shards: () => Promise<number>,
): Pick<VerifyPorts, 'rows' | 'contents' | 'records'> & Pick<VerifyPorts['letters'], 'dead'> {
  const { notification_log, notification_content, notification_retry_log } = tables;
  return {
    rows: {
      page: scanOf(client, notification_log, ROW),
      async read(log_ids) {
        let read_units = 0;
        if (log_ids.length === 0) return { items: [], read_units };
        const keys = log_ids.map((log_id) => ({ log_id: { S: log_id } }));
        const onUnits = (units: number) => {
          read_units += units;
        };
        const items = await getItems(client, notification_log, keys, { consistent: true, onUnits });
        return { items: items.map(toForeignRow), read_units };
      },
    },
    contents: { page: scanOf(client, notification_content, CONTENT) },

    async records(log_id) {
      const columns = ['retry_attempt', 'retry_status'];
      const key = { original_log_id: log_id };
      return allOf(queryPages(client, { table: notification_retry_log, key, columns, consistent: true, units: true }));
    },

    async *dead() {
      for (const work_queue of workPartitions('dead', await shards())) {
        const columns = ['log_id', 'channel', 'work_at'];
        const query = { table: notification_log, index: WORK_INDEX, key: { work_queue }, columns, units: true };
        for await (const page of queryPages(client, query)) yield pageOf(page);
      }
    },
  };
}

interface NewsletterTables {
  readonly emails: string;
  readonly email_batches: string;
  readonly email_recipients: string;
}

export function createNewsletterReads(
  client: DynamoDBClient,
  { emails, email_batches, email_recipients }: NewsletterTables,
): NonNullable<VerifyPorts['newsletters']> {
  return {
    // The index holds the rows alone: the contents of the table are large.
    async page(after) {
      const input = { TableName: emails, IndexName: TENANT_EMAILS_INDEX, Limit: EMAILS_PAGE };
      return pageOf(await scan(client, input, after));
    },

    read: (email_id) =>
      allOf(queryPages(client, { table: emails, key: { email_id, part: 'row' }, consistent: true, units: true })),

    async batches(email_id) {
      const columns = ['batch_id', 'status', 'chunks', 'counts'];
      const query = { table: email_batches, key: { email_id }, columns, consistent: true, units: true };
      const all = await allOf(queryPages(client, query));
      // Beside its batches, what events told of each.
      return { ...all, items: all.items.filter((item) => /^(\d{5}|excluded)$/.test(String(item['batch_id']))) };
    },

    async *chunks(email_id, batch_id) {
      const pages = queryPages(client, {
        table: email_recipients,
        key: { email_batch: `${email_id}#${batch_id}` },
        consistent: true,
        units: true,
        range: ['chunk', 'begins_with', 'state#'],
        columns: ['chunk', 'states'],
      });
      for await (const answer of pages) {
        const { items, ...page } = pageOf(answer);
        yield { ...page, items: items.map((one) => ({ ...one, chunk: String(one['chunk']).slice('state#'.length) })) };
      }
    },
  };
}
