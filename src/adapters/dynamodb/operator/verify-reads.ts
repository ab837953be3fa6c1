import { type DynamoDBClient, paginateQuery, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type WorkState, workPartitions } from '../../../core/model/work-index.ts';
import type { KeptVerification, VerificationStore } from '../../../core/verify/kept-verification.ts';
import type { Page, VerifyPorts } from '../../../core/verify/verification.ts';
import { SEGMENTS } from '../../../core/verify/verification.ts';
import { changeVersioned, readVersioned } from '../newsletter/versioned-item.ts';
import { TENANT_EMAILS_INDEX, VERIFICATION_KIND, WORK_INDEX } from '../schema.ts';
import { getItems } from '../table/calls.ts';
import { type Item, toForeignRow } from '../table/item.ts';

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
  ...['predecessor_log_id', 'successor_log_id', 'dead_message_id', 'dead_run_id', 'dead_enqueued_at', 'dead_sent_at'],
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

interface Answer {
  readonly Items?: Item[] | undefined;
  readonly LastEvaluatedKey?: Item | undefined;
  readonly ConsumedCapacity?: { readonly CapacityUnits?: number | undefined } | undefined;
}

function pageOf({ Items = [], ConsumedCapacity, LastEvaluatedKey }: Answer): Page {
  return {
    items: Items.map(toForeignRow),
    read_units: ConsumedCapacity?.CapacityUnits ?? 0,
    ...(LastEvaluatedKey && { next: LastEvaluatedKey }),
  };
}

async function allOf(answers: AsyncIterable<Answer>): Promise<Page> {
  const pages: Page[] = [];
  for await (const answer of answers) pages.push(pageOf(answer));
  const read_units = pages.reduce((sum, page) => sum + page.read_units, 0);
  return { items: pages.flatMap(({ items }) => items), read_units };
}

/** By numbers, as any column may be a word of DynamoDB's own. */
function projection(columns: readonly string[]) {
  return {
    ProjectionExpression: columns.map((_, i) => `#c${i}`).join(', '),
    ExpressionAttributeNames: Object.fromEntries(columns.map((column, i) => [`#c${i}`, column])),
  };
}

const ReturnConsumedCapacity = 'TOTAL';

/** A whole table by parallel segments, a page at a time; it may be a second old. */
function scanOf(client: DynamoDBClient, TableName: string, columns: readonly string[]): VerifyPorts['rows']['page'] {
  return async (Segment, after) =>
    pageOf(
      await client.send(
        new ScanCommand({
          ...{ TableName, Segment, TotalSegments: SEGMENTS, Limit: PAGE_SIZE, ReturnConsumedCapacity },
          ...projection(columns),
          ...(after && { ExclusiveStartKey: after as Item }),
        }),
      ),
    );
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
    contents: { page: scanOf(client, notification_content, ['log_id', 'tenant_id', 'expires_at']) },

    async records(log_id) {
      const query = {
        TableName: notification_retry_log,
        KeyConditionExpression: 'original_log_id = :id',
        ExpressionAttributeValues: { ':id': { S: log_id } },
        ProjectionExpression: 'retry_attempt, retry_status',
        ConsistentRead: true,
        ReturnConsumedCapacity,
      } as const;
      return allOf(paginateQuery({ client }, query));
    },

    async *dead() {
      const state: WorkState = 'dead';
      for (const work_queue of workPartitions(state, await shards())) {
        const query = {
          TableName: notification_log,
          IndexName: WORK_INDEX,
          KeyConditionExpression: 'work_queue = :queue',
          ExpressionAttributeValues: { ':queue': { S: work_queue } },
          ProjectionExpression: 'log_id, channel, work_at',
          ReturnConsumedCapacity,
        } as const;
        for await (const answer of paginateQuery({ client }, query)) yield pageOf(answer);
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
      const answer = await client.send(
        new ScanCommand({
          ...{ TableName: emails, IndexName: TENANT_EMAILS_INDEX, Limit: EMAILS_PAGE, ReturnConsumedCapacity },
          ...(after && { ExclusiveStartKey: after as Item }),
        }),
      );
      return pageOf(answer);
    },

    read: (email_id) =>
      client
        .send(
          new QueryCommand({
            TableName: emails,
            KeyConditionExpression: 'email_id = :id AND part = :row',
            ExpressionAttributeValues: { ':id': { S: email_id }, ':row': { S: 'row' } },
            ConsistentRead: true,
            ReturnConsumedCapacity,
          }),
        )
        .then(pageOf),

    async batches(email_id) {
      const query = {
        TableName: email_batches,
        KeyConditionExpression: 'email_id = :id',
        ExpressionAttributeValues: { ':id': { S: email_id } },
        ...projection(['batch_id', 'status', 'chunks', 'counts']),
        ConsistentRead: true,
        ReturnConsumedCapacity,
      } as const;
      const all = await allOf(paginateQuery({ client }, query));
      // Beside its batches, what events told of each.
      return { ...all, items: all.items.filter((item) => /^(\d{5}|excluded)$/.test(String(item['batch_id']))) };
    },

    async *chunks(email_id, batch_id) {
      const query = {
        TableName: email_recipients,
        KeyConditionExpression: 'email_batch = :batch AND begins_with(#c0, :state)',
        ExpressionAttributeValues: { ':batch': { S: `${email_id}#${batch_id}` }, ':state': { S: 'state#' } },
        ...projection(['chunk', 'states']),
        ConsistentRead: true,
        ReturnConsumedCapacity,
      } as const;
      for await (const answer of paginateQuery({ client }, query)) {
        const { items, ...page } = pageOf(answer);
        yield { ...page, items: items.map((one) => ({ ...one, chunk: String(one['chunk']).slice('state#'.length) })) };
      }
    },
  };
}

/** VerificationStore on PipelineState. */
export function createVerificationStore(client: DynamoDBClient, table: string): VerificationStore {
  const key: Item = { kind: { S: VERIFICATION_KIND }, id: { S: 'latest' } };
  const fromItem = (item: Item): KeptVerification => {
    const { kind: _, id: __, ...kept } = unmarshall(item);
    return kept as KeptVerification;
  };
  return {
    async read() {
      const item = await readVersioned(client, table, key);
      return item && fromItem(item);
    },
    change: (was, change) =>
      changeVersioned<KeptVerification>(client, {
        ...{ table, key, change, fromItem },
        was: was ?? ({ version: 0 } as KeptVerification),
      }),
  };
}
