import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { successorId } from '../../../core/delivery/failover.ts';
import type { ForgetPorts, FoundContent, Whose } from '../../../core/forget/run-forget.ts';
import { type ForeignRow, SEALED } from '../../../core/model/notification.ts';
import type { Guard } from '../../../core/model/row-change.ts';
import { type Clock, expiresAt } from '../../../core/model/time.ts';
import { type Page, SEGMENTS } from '../../../core/verify/verification.ts';
import { type Sealer, SealRefusedError } from '../../sealing/sealer.ts';
import { createForgetRows } from '../delivery/guarded-rows.ts';
import { lifeOf } from '../delivery/successor-store.ts';
import { type Item, projection, toForeignRow, toItem } from '../table/item.ts';
import { itemReader, queryAll, readItem, scan } from '../table/reads.ts';
import { type ItemChange, updateItem } from '../table/writes.ts';

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
export const KEPT_OF_ERASED = [
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
  const { client, tables, clock, tenant_id } = options;
  const contents = new Contents(options);
  return {
    tenant_id,
    rows: createForgetRows(client, tables.notification_log, clock),
    rowPage: (segment, after) => rowPage(options, segment, after),
    whose: async (row) => whoseRow(options, row),
    contentPage: (segment, after) => contents.page(segment, after),
    contentOf: (log_id) => contents.whose(log_id),
    eraseFallback: (log_id) => contents.remove(log_id, FALLBACK),
    erasable: {
      eraseContent: ({ log_id }) => contents.erase(log_id),
      eraseRecords: (log_id) => eraseRecords(options, log_id),
    },
  };
}

/** What a page has beside the tenant's. */
interface PageQuery {
  readonly table: string;
  readonly segment: number;
  readonly after: object | null;
  readonly only: string;
  readonly columns?: object;
  readonly values?: Item;
}

function pageOf(
  { client, tenant_id }: ForgetStoreOptions,
  { table, segment, after, only, columns, values }: PageQuery,
) {
  const query = {
    TableName: table,
    Segment: segment,
    TotalSegments: SEGMENTS,
    Limit: PAGE_SIZE,
    FilterExpression: `tenant_id = :tenant AND (${only})`,
    ExpressionAttributeValues: { ':tenant': { S: tenant_id }, ...values },
    ...columns,
  };
  return scan(client, query, after);
}

async function rowPage(options: ForgetStoreOptions, segment: number, after: object | null): Promise<Page<ForeignRow>> {
  const values = toItem(Object.fromEntries(options.hashes.map((hash, i) => [`:h${i}`, hash])));
  const content = 'attribute_exists(recipient_address) OR attribute_exists(fallback_recipient)';
  const only = `recipient_hash IN (${Object.keys(values).join(', ')}) OR ${content}`;
  const table = options.tables.notification_log;
  const { items, ...page } = await pageOf(options, { table, segment, after, only, values });
  return { ...page, items: items.map(toForeignRow) };
}

function whoseRow({ hashes, isTheirs }: ForgetStoreOptions, row: ForeignRow): Whose | undefined {
  const { recipient_address, fallback_recipient, recipient_hash } = row;
  // What its writer has put there since is whom the next attempt goes to.
  if (typeof recipient_address === 'string' && recipient_address !== '') {
    if (isTheirs(recipient_address)) return 'recipient';
  } else if (hashes.some((hash) => hash === recipient_hash)) return 'recipient';
  return typeof fallback_recipient === 'string' && isTheirs(fallback_recipient) ? 'fallback' : undefined;
}

/** NotificationContent, whose recipients are sealed. */
class Contents {
  readonly #options: ForgetStoreOptions;
  readonly #table: string;
  readonly #read: (log_id: string) => Promise<Item | undefined>;

  constructor(options: ForgetStoreOptions) {
    this.#options = options;
    this.#table = options.tables.notification_content;
    this.#read = itemReader(options.client, this.#table, { consistent: true });
  }

  async page(segment: number, after: object | null): Promise<Page<FoundContent>> {
    const only = 'attribute_exists(encrypted_recipient) OR attribute_exists(encrypted_fallback_recipient)';
    const columns = projection(['log_id', 'life', 'encrypted_recipient', 'encrypted_fallback_recipient']);
    const query = { table: this.#table, segment, after, only, columns };
    const { items: found, ...page } = await pageOf(this.#options, query);
    const items: FoundContent[] = [];
    for (const item of found) {
      const whose = await this.#whose(item);
      const life = lifeOf(item);
      const found = { log_id: item['log_id']?.S ?? '', ...(life !== undefined && { life }) };
      if (whose !== undefined) items.push({ ...found, whose });
    }
    return { ...page, items };
  }

  async whose(log_id: string): Promise<Whose | undefined> {
    const item = await this.#read(log_id);
    return item && item['tenant_id']?.S === this.#options.tenant_id ? this.#whose(item) : undefined;
  }

  /** @returns false where it is erased already, and nothing has come since */
  async erase(log_id: string): Promise<boolean> {
    const { client, clock, tenant_id } = this.#options;
    const item = (await readItem(client, this.#table, log_id)) ?? {};
    const others = Object.keys(item).filter((name) => !KEPT_OF_ERASED.includes(name));
    if (item['erased_at'] !== undefined && others.length === 0) return false;
    const now = clock();
    const expires_at = Number(item['expires_at']?.N ?? expiresAt(now));
    const mark = { tenant_id, erased_at: now.toISOString(), expires_at };
    await this.remove(log_id, [...new Set([...CONTENT, ...FALLBACK, ...others])], mark);
    return true;
  }

  async remove(log_id: string, names: readonly string[], set?: ItemChange['set']): Promise<void> {
    const change = { remove: names, ...(set && { set }) };
    // A fallback is removed of content that is there; an erasure leaves its mark in any case.
    const guards: Guard[] = set ? [] : [[['log_id', '=', log_id]]];
    await updateItem(this.#options.client, this.#table, { log_id: { S: log_id } }, change, guards);
  }

  async #whose(item: Item): Promise<Whose | undefined> {
    const log_id = item['log_id']?.S ?? '';
    if (await this.#opens(log_id, item['encrypted_recipient']?.S)) return 'recipient';
    const isFallback = await this.#opens(successorId(log_id, lifeOf(item)), item['encrypted_fallback_recipient']?.S);
    return isFallback ? 'fallback' : undefined;
  }

  async #opens(id: string, sealed: string | undefined): Promise<boolean> {
    const { sealer, tenant_id, isTheirs } = this.#options;
    if (sealed === undefined) return false;
    try {
      return isTheirs(await sealer.open({ tenant_id, purpose: SEALED.recipients, id }, sealed));
    } catch (error) {
      // Altered, or sealed for another place: nobody can read it.
      if (error instanceof SealRefusedError) return false;
      throw error;
    }
  }
}

/** @returns how many records told something of the recipient */
async function eraseRecords({ client, tables }: ForgetStoreOptions, log_id: string): Promise<number> {
  const table = tables.notification_retry_log;
  const items = await queryAll(client, {
    table,
    key: { original_log_id: log_id },
    consistent: true,
    columns: ['original_log_id', 'retry_attempt', 'response_message', 'error_details'],
  });
  const telling = items.filter((item) => item['response_message'] ?? item['error_details']);
  for (const { original_log_id, retry_attempt } of telling) {
    const Key = { ...(original_log_id && { original_log_id }), ...(retry_attempt && { retry_attempt }) };
    const change = { remove: ['response_message', 'error_details'] };
    await updateItem(client, table, Key, change, [[['original_log_id', '=', log_id]]]);
  }
  return telling.length;
}
