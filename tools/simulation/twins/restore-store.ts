import { newNotification, requestOf } from '../../../src/core/intake/new-row.ts';
import type { IntakeRecord } from '../../../src/core/intake/ports.ts';
import { providerHost } from '../../../src/core/model/channels.ts';
import { defined } from '../../../src/core/model/collections.ts';
import type { ForeignRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import type { ContentItem, RestorePorts } from '../../../src/core/restore/restore-state.ts';
import type { SurvivingContent } from '../../../src/core/restore/survivors.ts';
import type { MemoryTables } from './memory-tables.ts';
import type { KeptContent } from './row-stores.ts';

/** Tables that were restored from a backup. */
interface Copies {
  readonly log?: ReadonlyMap<string, ForeignRow>;
  readonly content?: ReadonlyMap<string, KeptContent>;
  readonly retryLog?: ReadonlyMap<string, RetryRecord>;
}

/** RestorePorts in memory: the twin of dynamodb/operator/restore-store.ts. @param requests what the API keeps of each */
export function memoryRestore(
  { log, content, retryLog }: Pick<MemoryTables, 'log' | 'content' | 'retryLog'>,
  copies: Copies,
  requests: ReadonlyMap<string, IntakeRecord> = new Map(),
): RestorePorts {
  const marks = new Set<string>();
  const page =
    <T>(items: () => readonly T[]) =>
    async (segment: number) => ({ items: segment === 0 ? items() : [], read_units: 0 });
  const contentsOf = (map: ReadonlyMap<string, KeptContent>) => (): ContentItem[] =>
    [...map].map(([log_id, item]) => ({
      log_id,
      ...item,
      ...requests.get(log_id),
      image_sequence: item.sequence ?? 0,
    }));
  const surviving = (log_id: string, item: KeptContent, is_copy: boolean): SurvivingContent => ({
    is_copy: is_copy || marks.has(log_id),
    ...defined({ erased_at: item.erased_at, life: item.life }),
    ...(item.fallback && { fallback: routingOf(item) }),
  });
  const present = <T, R>(map: ReadonlyMap<string, T>, keys: readonly string[], read: (key: string, one: T) => R) =>
    new Map(
      keys.flatMap((key) => {
        const found = map.get(key);
        return found === undefined ? [] : [[key, read(key, found)] as const];
      }),
    );
  const all = (map: ReadonlyMap<string, RetryRecord>) => [...map.values()];
  return {
    copies: {
      ...(copies.retryLog && { records: page(() => all(copies.retryLog ?? new Map())) }),
      ...(copies.content && { contents: page(contentsOf(copies.content)) }),
      ...(copies.log && { rows: page(() => [...(copies.log?.values() ?? [])]) }),
    },
    deployed: {
      rowPage: page(() => [...log.values()]),
      contentPage: page(contentsOf(content)),
      rows: async (log_ids) => present(log, log_ids, (_, row) => row),
      contents: async (log_ids) => present(content, log_ids, (log_id, item) => surviving(log_id, item, false)),
      records: async (records) => {
        const ids = records.map(({ retry_log_id }) => retry_log_id);
        return new Set(ids.filter((id) => retryLog.has(id)));
      },
    },
    either: {
      row: async (log_id) => log.get(log_id) ?? copies.log?.get(log_id),
      async content(log_id) {
        const [item, copy] = [content.get(log_id), copies.content?.get(log_id)];
        return item ? surviving(log_id, item, false) : copy && surviving(log_id, copy, true);
      },
      async records(log_id) {
        const both = [...all(copies.retryLog ?? new Map()), ...all(retryLog)];
        const its = both.filter(({ original_log_id }) => original_log_id === log_id);
        return [...new Map(its.map((one) => [one.retry_attempt, one])).values()];
      },
    },
    put: {
      async record(record) {
        if (retryLog.has(record.retry_log_id)) return;
        retryLog.set(record.retry_log_id, record);
      },
      async content({ log_id: id, ...item }, erased_at) {
        const log_id = String(id);
        if (content.has(log_id)) return;
        const { tenant_id } = item as unknown as KeptContent;
        const nothing = { recipient: '', body: '', format: 'PLAIN', tenant_id } as const;
        content.set(log_id, erased_at === undefined ? (item as unknown as KeptContent) : { ...nothing, erased_at });
        marks.add(log_id);
      },
      async row(row) {
        const log_id = String(row['log_id']);
        if (!log.has(log_id)) log.set(log_id, { ...row });
      },
    },
    async acceptedRow({ log_id: id }) {
      const log_id = String(id);
      const { accepted_request, accepted_at = '' } = requests.get(log_id) ?? {};
      const { recipient = '', body = '', format = 'PLAIN', tenant_id = '' } = content.get(log_id) ?? {};
      if (accepted_request === undefined) return undefined;
      const identity = { log_id, tenant_id, accepted_at: new Date(accepted_at) };
      const { row, failed } = newNotification(
        identity,
        requestOf(accepted_request, { recipient, body, format }),
        policy,
      );
      const recipient_hash = `hash of ${tenant_id}/${recipient}`;
      return { row: { ...row, recipient_hash }, ...(failed && { record: failed.record }) };
    },
  };
}

function routingOf({ fallback, tenant_id }: KeptContent): NonNullable<SurvivingContent['fallback']> {
  const { integration_config_id, recipient = '' } = fallback ?? {};
  const provider_host = integration_config_id === undefined ? providerHost(recipient) : undefined;
  return defined({ integration_config_id, provider_host, recipient_hash: `hash of ${tenant_id}/${recipient}` });
}
