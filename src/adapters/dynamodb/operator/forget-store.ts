import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { successorId } from '../../../core/delivery/failover.ts';
import type { ForgetPorts, FoundContent, Whose } from '../../../core/forget/run-forget.ts';
import { SEALED } from '../../../core/model/notification.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import { type Page, SEGMENTS } from '../../../core/verify/verification.ts';
import { type Sealer, SealRefusedError } from '../../sealing/sealer.ts';
import { lifeOf } from '../delivery/successor-store.ts';
import { type ItemChange, itemReader } from '../table/calls.ts';
import { createForgetRows, updateItem } from '../table/guarded-update.ts';
import type { Guard } from '../table/guards.ts';
import { type Item, toForeignRow, toItem } from '../table/item.ts';
import { projection, queryAll, readItem, scan } from '../table/reads.ts';

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
  ...['log_id', 'tenant_id', 'expires_at', 'image_sequence', 'life', 'erased_at'],
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

  const contentReader = itemReader(client, notification_content, { consistent: true });

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
    const isFallback = await opens(successorId(log_id, lifeOf(item)), item['encrypted_fallback_recipient']?.S);
    return isFallback ? 'fallback' : undefined;
  }

  /** @param only beside the tenant */
  const pageOf = (
    TableName: string,
    Segment: number,
    after: object | null,
    only: string,
    more: object,
    values: Item = {},
  ) =>
    scan(
      client,
      {
        TableName,
        Segment,
        TotalSegments: SEGMENTS,
        Limit: PAGE_SIZE,
        FilterExpression: `tenant_id = :tenant AND (${only})`,
        ExpressionAttributeValues: { ':tenant': { S: tenant_id }, ...values },
        ...more,
      },
      after,
    );

  const remove = async (log_id: string, names: readonly string[], set?: ItemChange['set']) => {
    const change = { remove: names, ...(set && { set }) };
    // A fallback is removed of content that is there; an erasure leaves its mark in any case.
    const guards: Guard[] = set ? [] : [[['log_id', '=', log_id]]];
    await updateItem(client, notification_content, { log_id: { S: log_id } }, change, guards);
  };

  return {
    tenant_id,
    rows: createForgetRows(client, notification_log, clock),

    async rowPage(segment, after) {
      const values = toItem(Object.fromEntries(hashes.map((hash, i) => [`:h${i}`, hash])));
      const content = 'attribute_exists(recipient_address) OR attribute_exists(fallback_recipient)';
      const only = `recipient_hash IN (${Object.keys(values).join(', ')}) OR ${content}`;
      const { items, ...page } = await pageOf(notification_log, segment, after, only, {}, values);
      return { ...page, items: items.map(toForeignRow) };
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
      const only = 'attribute_exists(encrypted_recipient) OR attribute_exists(encrypted_fallback_recipient)';
      const columns = projection(['log_id', 'life', 'encrypted_recipient', 'encrypted_fallback_recipient']);
      const { items: found, ...page } = await pageOf(notification_content, segment, after, only, columns);
      const items: FoundContent[] = [];
      for (const item of found) {
        const whose = await whoseContent(item);
        const life = lifeOf(item);
        const found = { log_id: item['log_id']?.S ?? '', ...(life !== undefined && { life }) };
        if (whose !== undefined) items.push({ ...found, whose });
      }
      return { ...page, items } satisfies Page<FoundContent>;
    },

    async contentOf(log_id) {
      const item = await contentReader(log_id);
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
        await remove(log_id, [...new Set([...CONTENT, ...FALLBACK, ...others])], mark);
        return true;
      },

      async eraseRecords(log_id) {
        const items = await queryAll(client, {
          table: notification_retry_log,
          key: { original_log_id: log_id },
          consistent: true,
          columns: ['original_log_id', 'retry_attempt', 'response_message', 'error_details'],
        });
        const telling = items.filter((item) => item['response_message'] ?? item['error_details']);
        for (const { original_log_id, retry_attempt } of telling) {
          const Key = { ...(original_log_id && { original_log_id }), ...(retry_attempt && { retry_attempt }) };
          const change = { remove: ['response_message', 'error_details'] };
          await updateItem(client, notification_retry_log, Key, change, [[['original_log_id', '=', log_id]]]);
        }
        return telling.length;
      },
    },
  };
}
