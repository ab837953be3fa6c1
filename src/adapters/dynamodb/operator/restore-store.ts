import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { ForeignRow } from '../../../core/model/notification.ts';
import { type Guard, NEW } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import type { ContentItem, RestorePorts } from '../../../core/restore/restore-state.ts';
import type { SurvivingContent } from '../../../core/restore/survivors.ts';
import { SEGMENTS } from '../../../core/verify/verification.ts';
import { routingOf } from '../delivery/successor-store.ts';
import { type Item, projection, toForeignRow, toItem, toRetryRecord } from '../table/item.ts';
import { getItems, MAX_GETS, queryAll, readItem, scan } from '../table/reads.ts';
import { putGuarded } from '../table/writes.ts';
import { KEPT_OF_ERASED } from './forget-store.ts';

type Tables = Readonly<Record<'notification_log' | 'notification_content' | 'notification_retry_log', string>>;

type Options = { client: DynamoDBClient; tables: Tables; copies: Partial<Tables>; clock: Clock };

/** What a page names is read by one BatchGetItem. */
const PAGE_SIZE = MAX_GETS;
const NEW_RECORD: Guard = [['original_log_id', '=', undefined]];
/** What the decision on a row asks of its content: neither recipients nor words. */
const OF_CONTENT = [
  ...['log_id', 'erased_at', 'life', 'restored_at'],
  ...['fallback_integration_config_id', 'fallback_provider_host', 'fallback_recipient_hash'],
];
/** What a request that was accepted left, and an image of the stream. */
const OF_ACCEPTANCE = [
  ...['log_id', 'tenant_id', 'expires_at', 'erased_at', 'restored_at', 'image_sequence'],
  ...['accepted_at', 'accepted_request', 'traceparent'],
];

/** The restored tables beside those that are deployed. What is copied says so: `restored_at` of a content or record. */
export function createRestoreStore({ client, tables, copies, clock }: Options): Omit<RestorePorts, 'acceptedRow'> {
  const restored_at = () => ({ restored_at: { S: clock().toISOString() } });
  const pages = <T>(table: string, read: (item: Item) => T, columns?: readonly string[]) => {
    const input = { TableName: table, TotalSegments: SEGMENTS, Limit: PAGE_SIZE, ...(columns && projection(columns)) };
    return async (Segment: number, after: object | null) => {
      const { items, ...page } = await scan(client, { ...input, Segment }, after);
      return { ...page, items: items.map(read) };
    };
  };
  const byId = async (table: string, log_ids: readonly string[], columns?: readonly string[]) => {
    const keys = [...new Set(log_ids)].map((log_id) => ({ log_id: { S: log_id } }));
    const items =
      keys.length === 0 ? [] : await getItems(client, table, keys, { consistent: true, ...(columns && { columns }) });
    return new Map(items.map((item) => [item['log_id']?.S ?? '', item]));
  };
  const one = async (role: keyof Tables, of: Partial<Tables>, log_id: string, columns?: readonly string[]) => {
    const { [role]: table } = of;
    return table === undefined ? undefined : readItem(client, table, log_id, columns);
  };
  const recordsIn = async (table: string | undefined, original_log_id: string) =>
    table === undefined ? [] : queryAll(client, { table, key: { original_log_id }, consistent: true });
  return {
    copies: {
      ...(copies.notification_retry_log && { records: pages(copies.notification_retry_log, toRetryRecord) }),
      ...(copies.notification_content && { contents: pages(copies.notification_content, toForeignRow) }),
      ...(copies.notification_log && { rows: pages(copies.notification_log, toForeignRow) }),
    },
    deployed: {
      rowPage: pages(tables.notification_log, toForeignRow),
      contentPage: pages(tables.notification_content, toForeignRow, OF_ACCEPTANCE),
      rows: async (log_ids) => mapped(await byId(tables.notification_log, log_ids), toForeignRow),
      contents: async (log_ids) => mapped(await byId(tables.notification_content, log_ids, OF_CONTENT), toSurviving),
      async records(records) {
        const columns = ['retry_log_id'];
        const keys = records.map(({ original_log_id, retry_attempt }) => toItem({ original_log_id, retry_attempt }));
        const table = tables.notification_retry_log;
        const items = keys.length === 0 ? [] : await getItems(client, table, keys, { consistent: true, columns });
        return new Set(items.map((item) => item['retry_log_id']?.S ?? ''));
      },
    },
    either: {
      async row(log_id) {
        const item = (await one('notification_log', tables, log_id)) ?? (await one('notification_log', copies, log_id));
        return item && toForeignRow(item);
      },
      async content(log_id) {
        const item = await one('notification_content', tables, log_id, OF_CONTENT);
        const copy = item ?? (await one('notification_content', copies, log_id, OF_CONTENT));
        return copy && { ...toSurviving(copy), ...(item === undefined && { is_copy: true }) };
      },
      async records(log_id) {
        const both = await Promise.all(
          [copies.notification_retry_log, tables.notification_retry_log].map((table) => recordsIn(table, log_id)),
        );
        // The deployed one of a number stands.
        return [...new Map(both.flat().map((item) => [item['retry_attempt']?.N, toRetryRecord(item)])).values()];
      },
    },
    put: {
      async record(record) {
        await putGuarded(client, tables.notification_retry_log, { ...toItem(record), ...restored_at() }, [NEW_RECORD]);
      },
      async content(item: ContentItem, erased_at?: string) {
        const kept = Object.entries(item).filter(([name]) => KEPT_OF_ERASED.includes(name));
        const whole = erased_at === undefined ? item : { ...Object.fromEntries(kept), erased_at };
        await putGuarded(client, tables.notification_content, { ...toItem(whole), ...restored_at() }, [NEW]);
      },
      async row(row: ForeignRow) {
        await putGuarded(client, tables.notification_log, toItem(row), [NEW]);
      },
    },
  };
}

function mapped<T>(items: ReadonlyMap<string, Item>, read: (item: Item) => T): ReadonlyMap<string, T> {
  return new Map([...items].map(([log_id, item]) => [log_id, read(item)]));
}

function toSurviving(item: Item): SurvivingContent {
  const { erased_at, life } = item;
  return {
    is_copy: item['restored_at'] !== undefined,
    fallback: routingOf(item),
    ...(erased_at?.S !== undefined && { erased_at: erased_at.S }),
    ...(life?.N !== undefined && { life: Number(life.N) }),
  };
}
