import type { Channel } from '../model/channels.ts';
import { type ForeignRow, hasContent } from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { rowBytes } from '../model/text.ts';
import type { RowFault } from '../model/work-index.ts';
import { brokenRules, type ColumnRule, isAbsent } from '../model/work-rules.ts';
import { type IndexPlan, planIndex } from './index-plan.ts';
import { contentFaults, rowFaults } from './row-rules.ts';

/**
 * What another writer may give: the columns of his-notification-log-table.md, those of batch-952-notification-retry.md
 * §3.1, and a fallback. All others are the pipeline's own.
 */
export const WRITER_COLUMNS = [
  ...['log_id', 'is_deleted', 'tenant_id', 'notification_id', 'setting_id', 'template_id', 'notification_type'],
  ...['channel', 'priority', 'priority_level', 'recipient_type', 'recipient_address', 'subject', 'message_body'],
  ...['message_format', 'send_status', 'send_attempts', 'max_retry_count', 'retry_count', 'scheduled_at'],
  ...['next_retry_at', 'first_attempt_at', 'sent_at', 'delivered_at', 'opened_at', 'response_code'],
  ...['response_message', 'error_message', 'error_details', 'integration_config_id', 'fallback_channel'],
  ...['fallback_recipient', 'fallback_integration_config_id', 'created_at', 'updated_at', 'created_by', 'updated_by'],
];

/** A half of a surrogate pair, which JSON can escape and DynamoDB does not store. */
const UNICODE: readonly ColumnRule[] = WRITER_COLUMNS.map((column) => ({
  column,
  rule: 'Unicode',
  expected: 'well-formed Unicode',
  holds: (value) => typeof value !== 'string' || value.isWellFormed(),
}));

/** DynamoDB stores no larger item. */
const MAX_ROW_BYTES = 400 * 1024;

/** How exports of databases write what JSON has a type for. */
const COUNTS = ['send_attempts', 'max_retry_count', 'retry_count'];
const IDS = [
  ...['log_id', 'tenant_id', 'notification_id', 'setting_id', 'template_id', 'integration_config_id'],
  ...['fallback_integration_config_id', 'response_code', 'created_by', 'updated_by'],
];
const BOOLEANS = new Map<unknown, boolean>([
  ...([0, '0', 'false'] as const).map((value) => [value, false] as const),
  ...([1, '1', 'true'] as const).map((value) => [value, true] as const),
]);

export type ImportedRow =
  | {
      readonly is: 'row';
      readonly row: ForeignRow;
      /** What the indexer will make of it. */
      readonly plan: IndexPlan;
      /** Columns that are not taken. */
      readonly left_out: readonly string[];
    }
  | { readonly is: 'of_another_tenant' }
  | { readonly is: 'faulty'; readonly log_id?: string; readonly faults: readonly RowFault[] };

interface ImportTerms {
  readonly tenant_id: string;
  readonly now: Date;
  readonly policy: RetryPolicy;
  readonly channels: readonly Channel[];
}

/** Reads a row of the table document as an export of its database holds it: `id` is `log_id`, NULL is absent. */
export function importedRow(value: unknown, { tenant_id, now, policy, channels }: ImportTerms): ImportedRow {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return faulty({}, NO_ROW);
  const { id, ...given } = value as Record<string, unknown>;
  const isById = isAbsent(given['log_id']) && !isAbsent(id);
  const named = {
    ...given,
    ...(isById && { log_id: id }),
    ...(isAbsent(given['tenant_id']) && { tenant_id }),
  };
  const columns = Object.entries(named).filter(([, one]) => !isAbsent(one));
  const [ours = [], left_out = []] = [true, false].map((is) =>
    columns.filter(([name]) => WRITER_COLUMNS.includes(name) === is),
  );
  const row = withoutBareFormat(Object.fromEntries(ours.map(([name, one]) => [name, typed(name, one)])));
  const { log_id, tenant_id: owner } = row;
  if (typeof owner === 'string' && owner !== '' && owner !== tenant_id) return { is: 'of_another_tenant' };
  const faults = [
    ...(isAbsent(log_id) || log_id === '' ? [NO_ID] : []),
    ...rowFaults(row, channels),
    ...brokenRules(UNICODE, row),
    ...(isEnded(row) && !hasContent(row) ? [] : contentFaults(row)),
    ...(rowBytes(row) > MAX_ROW_BYTES ? [TOO_LARGE] : []),
  ];
  if (faults.length > 0)
    return faulty(
      row,
      ...faults.map((fault) => (isById && fault.column === 'log_id' ? { ...fault, column: 'id' } : fault)),
    );
  const plan = planIndex(row, now, policy, { channels });
  if (plan.do === 'history' && Number(plan.set['expires_at']) * 1000 <= now.getTime()) return faulty(row, TOO_OLD);
  return { is: 'row', row, plan, left_out: left_out.map(([name]) => name) };
}

const isEnded = (row: ForeignRow): boolean => row['is_deleted'] === true || row['send_status'] === 'SUCCESS';

/** A source that keeps no texts of what is over still says their format. */
function withoutBareFormat(row: ForeignRow): ForeignRow {
  const { message_format: _, ...rest } = row;
  return isEnded(row) && !hasContent(rest) ? rest : row;
}

function typed(column: string, value: unknown): unknown {
  if (column === 'is_deleted') return BOOLEANS.get(value) ?? value;
  if (column === 'error_details' && typeof value === 'object') return JSON.stringify(value);
  if (IDS.includes(column) && Number.isSafeInteger(value)) return String(value);
  return COUNTS.includes(column) && typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
}

function faulty({ log_id }: ForeignRow, ...faults: readonly RowFault[]): ImportedRow {
  return { is: 'faulty', ...(typeof log_id === 'string' && { log_id }), faults };
}

const NO_ROW: RowFault = { column: '', rule: 'JSON', expected: 'an object with the columns of a row' };
const NO_ID: RowFault = { column: 'log_id', rule: 'NOT NULL', expected: 'a value that is not empty, as id or log_id' };
const TOO_LARGE: RowFault = { column: '', rule: '400 KB', expected: 'a row that DynamoDB can store' };
const TOO_OLD: RowFault = { column: 'created_at', rule: '2 years', expected: 'a row that has not expired' };

/** A row of another tenant has the log_id. */
export const TAKEN: RowFault = { column: 'log_id', rule: 'PRIMARY KEY', expected: 'one that no other tenant has' };
