import { type DynamoDBClient, QueryCommand, ScanCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { successorId } from '../../../core/delivery/failover.ts';
import type { ForgetPorts, Whose } from '../../../core/forget/run-forget.ts';
import { SEALED } from '../../../core/model/notification.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import { type Page, SEGMENTS } from '../../../core/verify/verification.ts';
import { type Sealer, SealRefusedError } from '../../sealing/sealer.ts';
import { ifConditionHolds, readItem, updateExpression } from '../table/calls.ts';
import { createForgetRows } from '../table/guarded-update.ts';
import { type Item, toForeignRow, toItem } from '../table/item.ts';

interface ForgetStoreOptions {
  readonly client: DynamoDBClient;
  readonly tables: {
    readonly notification_log: string;
    readonly notification_content: string;
    readonly notification_retry_log: string;
  };
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly tenant_id: string;
  /** Of every spelling of the recipient. */
  readonly hashes: readonly string[];
  readonly isTheirs: (recipient: string) => boolean;
}

const PAGE_SIZE = 500;
/** What keeps others from storing a content again: its key, the idempotency record of its request, and the mark. */
const KEPT = [
  ...['log_id', 'tenant_id', 'expires_at', 'image_sequence', 'erased_at'],
  ...['request_hash', 'accepted_at', 'accepted_status', 'accepted_by', 'latest_generation'],
];
const CONTENT = [
  ...['encrypted_recipient', 'subject', 'message_body', 'message_body_deflated', 'message_format'],
  ...['response_message', 'error_details'],
];
const FALLBACK = [
  ...['encrypted_fallback_recipient', 'fallback_recipient_hash'],
  ...['fallback_integration_config_id', 'fallback_provider_host'],
];

/** What `ops forget` finds and erases of one recipient in the three tables of notifications. */
export function createForgetStore(
  options: ForgetStoreOptions,
): Omit<ForgetPorts, 'names' | 'members' | 'records' | 'clock'> {
  const { client, tables, sealer, clock, tenant_id, hashes, isTheirs } = options;
  const { notification_log, notification_content, notification_retry_log } = tables;

  async function opens(id: string, sealed: string | undefined): Promise<boolean> {
    if (sealed === undefined) return false;
    try {
      return isTheirs(await sealer.open({ tenant_id, purpose: SEALED.recipients, id }, sealed));
    } catch (error) {
      // Altered, or sealed for another place: nobody can read it.
      if (error instanceof SealRefusedError) return false;
      throw error;
    }
  }

  async function whoseContent(item: Item): Promise<Whose | undefined> {
    const log_id = item['log_id']?.S ?? '';
    if (await opens(log_id, item['encrypted_recipient']?.S)) return 'recipient';
    const isFallback = await opens(successorId(log_id), item['encrypted_fallback_recipient']?.S);
    return isFallback ? 'fallback' : undefined;
  }

  const scan = async (
    table: string,
    Segment: number,
    after: unknown,
    more: { readonly FilterExpression: string; readonly values?: Item; readonly ProjectionExpression?: string },
  ) => {
    const { values, ...rest } = more;
    return client.send(
      new ScanCommand({
        ...{ TableName: table, Segment, TotalSegments: SEGMENTS, Limit: PAGE_SIZE, ReturnConsumedCapacity: 'TOTAL' },
        ...rest,
        ExpressionAttributeValues: { ':tenant': { S: tenant_id }, ...values },
        ...(after ? { ExclusiveStartKey: after as Item } : {}),
      }),
    );
  };

  const remove = async (log_id: string, names: readonly string[], set: object = {}, always = false) => {
    const change = updateExpression({ set: { ...set }, remove: names });
    const update = new UpdateItemCommand({
      ...{ TableName: notification_content, Key: { log_id: { S: log_id } }, UpdateExpression: change.expression },
      ...{ ExpressionAttributeNames: change.names },
      ...(Object.keys(change.values).length > 0 && { ExpressionAttributeValues: change.values }),
      ...(!always && { ConditionExpression: 'attribute_exists(log_id)' }),
    });
    await ifConditionHolds(client.send(update), undefined);
  };

  return {
    tenant_id,
    rows: createForgetRows(client, notification_log, clock),

    async rowPage(segment, after) {
      const hash = hashes.map((_, i) => `:h${i}`);
      const {
        Items = [],
        ConsumedCapacity,
        LastEvaluatedKey,
      } = await scan(notification_log, segment, after, {
        FilterExpression: `tenant_id = :tenant AND (recipient_hash IN (${hash.join(', ')}) OR attribute_exists(recipient_address) OR attribute_exists(fallback_recipient))`,
        values: toItem(Object.fromEntries(hashes.map((one, i) => [hash[i] ?? '', one]))),
      });
      return {
        items: Items.map(toForeignRow),
        read_units: ConsumedCapacity?.CapacityUnits ?? 0,
        ...(LastEvaluatedKey && { next: LastEvaluatedKey }),
      };
    },

    async whose(row) {
      const { recipient_address, fallback_recipient, recipient_hash } = row;
      // What its writer has put there since is whom the next attempt goes to.
      if (typeof recipient_address === 'string' && recipient_address !== '') {
        if (isTheirs(recipient_address)) return 'recipient';
      } else if (hashes.some((hash) => hash === recipient_hash)) return 'recipient';
      return typeof fallback_recipient === 'string' && isTheirs(fallback_recipient) ? 'fallback' : undefined;
    },

    async contentPage(segment, after) {
      const page = await scan(notification_content, segment, after, {
        FilterExpression:
          'tenant_id = :tenant AND (attribute_exists(encrypted_recipient) OR attribute_exists(encrypted_fallback_recipient))',
        ProjectionExpression: 'log_id, encrypted_recipient, encrypted_fallback_recipient',
      });
      const items: { log_id: string; whose: Whose }[] = [];
      for (const item of page.Items ?? []) {
        const whose = await whoseContent(item);
        if (whose !== undefined) items.push({ log_id: item['log_id']?.S ?? '', whose });
      }
      return {
        items,
        read_units: page.ConsumedCapacity?.CapacityUnits ?? 0,
        ...(page.LastEvaluatedKey && { next: page.LastEvaluatedKey }),
      } satisfies Page<{ log_id: string; whose: Whose }>;
    },

    async contentOf(log_id) {
      const item = await readItem(client, notification_content, log_id);
      return item && item['tenant_id']?.S === tenant_id ? whoseContent(item) : undefined;
    },

    eraseFallback: (log_id) => remove(log_id, FALLBACK),

    erasable: {
      async eraseContent({ log_id }) {
        const item = (await readItem(client, notification_content, log_id)) ?? {};
        const others = Object.keys(item).filter((name) => !KEPT.includes(name));
        if (item['erased_at'] !== undefined && others.length === 0) return false;
        const now = clock();
        const expires_at = Number(item['expires_at']?.N ?? expiresAt(now));
        const mark = { tenant_id, erased_at: now.toISOString(), expires_at };
        await remove(log_id, [...new Set([...CONTENT, ...FALLBACK, ...others])], mark, true);
        return true;
      },

      async eraseRecords(log_id) {
        const { Items = [] } = await client.send(
          new QueryCommand({
            TableName: notification_retry_log,
            KeyConditionExpression: 'original_log_id = :id',
            ExpressionAttributeValues: { ':id': { S: log_id } },
            ProjectionExpression: 'original_log_id, retry_attempt, response_message, error_details',
            ConsistentRead: true,
          }),
        );
        const telling = Items.filter((item) => item['response_message'] ?? item['error_details']);
        for (const { original_log_id, retry_attempt } of telling) {
          const Key = { ...(original_log_id && { original_log_id }), ...(retry_attempt && { retry_attempt }) };
          const update = new UpdateItemCommand({
            ...{ TableName: notification_retry_log, Key, UpdateExpression: 'REMOVE response_message, error_details' },
            ConditionExpression: 'attribute_exists(original_log_id)',
          });
          await ifConditionHolds(client.send(update), undefined);
        }
        return telling.length;
      },
    },
  };
}
