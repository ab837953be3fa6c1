import { toItem } from '../adapters/dynamodb/table/item.ts';
import { readItem } from '../adapters/dynamodb/table/reads.ts';
import { putGuarded } from '../adapters/dynamodb/table/writes.ts';
import { foresight } from '../core/delivery/claim-plan.ts';
import { type ImportedRow, importedRow, TAKEN } from '../core/indexing/imported-row.ts';
import type { IndexPlan } from '../core/indexing/index-plan.ts';
import { channelsIn } from '../core/model/channels.ts';
import { asNotification, type ForeignRow } from '../core/model/notification.ts';
import { messageFor } from '../core/model/queue-message.ts';
import { NEW } from '../core/model/row-change.ts';
import type { DueItem, RowFault } from '../core/model/work-index.ts';
import type { OperatorDeps } from './deps.ts';

/** What becomes of the rows of a file: each is counted once. */
export interface ImportCounts {
  /** Imported, and to be sent. */
  readonly sent: number;
  /** Imported, and given up by its own limits before an attempt. */
  readonly given_up: number;
  /** Imported, and kept for lookups: delivered or deleted. */
  readonly kept: number;
  /** There already, and left as they are. */
  readonly known: number;
  readonly of_other_tenants: number;
  readonly set_aside: number;
}

export const NO_COUNTS: ImportCounts = { sent: 0, given_up: 0, kept: 0, known: 0, of_other_tenants: 0, set_aside: 0 };

/** A rule that a row of the file breaks. Nothing of the row is quoted but its id. */
export interface ImportFault extends RowFault {
  /** From 1. */
  readonly row: number;
  readonly log_id?: string;
}

export interface ImportedWindow {
  readonly counts: ImportCounts;
  readonly faults: readonly ImportFault[];
  readonly left_out: readonly string[];
}

export interface ImportRequest {
  readonly tenant: string;
  readonly dry_run: boolean;
  /** Ids of the file so far: in a dry run they are in no table. */
  readonly planned: Set<string>;
}

type ImportDeps = Pick<OperatorDeps, 'dynamodb' | 'deployment' | 'clock'>;

/** The rows of a file that is a JSON list, an object with one list in it, or one JSON object per line, or what is wrong with it. */
export function rowsIn(text: string): readonly unknown[] | { readonly fault: string } {
  const whole = parsed(text);
  if (Array.isArray(whole)) return whole;
  const isRow = typeof whole === 'object' && whole !== null && ('id' in whole || 'log_id' in whole);
  const members = typeof whole === 'object' && whole !== null && !isRow ? Object.entries(whole) : [];
  const lists = members.filter(([, member]) => Array.isArray(member));
  const [[, only] = [], ...more] = lists;
  if (more.length > 0) return { fault: `has several lists, ${lists.map(([name]) => name).join(', ')}: leave one` };
  if (Array.isArray(only)) return only;
  return whole === undefined ? rowsOfLines(text) : [whole];
}

function rowsOfLines(text: string): readonly unknown[] | { readonly fault: string } {
  const lines = text.split(/\r\n?|\n/).map((line, i) => ({ number: i + 1, line }));
  const rows = lines
    .filter(({ line }) => line.trim() !== '')
    .map(({ number, line }) => ({ number, row: parsed(line) }));
  const bad = rows.find(({ row }) => row === undefined);
  if (rows.length === 0) return { fault: 'is empty' };
  if (bad === undefined) return rows.map(({ row }) => row);
  return rows.indexOf(bad) === 0
    ? { fault: 'is neither a JSON list of rows nor one row in JSON per line' }
    : { fault: `has no JSON in line ${bad.number}` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Imports rows, each once, whatever was imported before. @param first the number of the first one, from 1 */
export async function importWindow(
  values: readonly unknown[],
  first: number,
  request: ImportRequest,
  deps: ImportDeps,
): Promise<ImportedWindow> {
  const terms = {
    tenant_id: request.tenant,
    now: deps.clock(),
    policy: deps.deployment.retry_policy,
    channels: channelsIn(deps.deployment.lane_queues),
  };
  const read = values.map((value) => importedRow(value, terms));
  const results = await Promise.all(read.map((one) => resultOf(one, request, deps)));
  const counts = { ...NO_COUNTS };
  for (const { is } of results) counts[is] += 1;
  const faults = results.flatMap(({ faults = [], log_id }, i) =>
    faults.map((fault) => ({ row: first + i, ...(log_id && { log_id }), ...fault })),
  );
  const left_out = new Set(read.flatMap((one) => (one.is === 'row' ? one.left_out : [])));
  return { counts, faults, left_out: [...left_out] };
}

interface Result {
  readonly is: keyof ImportCounts;
  readonly log_id?: string;
  readonly faults?: readonly RowFault[];
}

async function resultOf(one: ImportedRow, request: ImportRequest, deps: ImportDeps): Promise<Result> {
  if (one.is === 'of_another_tenant') return { is: 'of_other_tenants' };
  if (one.is === 'faulty') return { is: 'set_aside', faults: one.faults, ...(one.log_id && { log_id: one.log_id }) };
  const { row, plan } = one;
  const log_id = String(row['log_id']);
  const isRepeated = request.planned.has(log_id);
  request.planned.add(log_id);
  const planned = async () => (isRepeated ? request.tenant : await ownerOf(log_id, deps));
  const owner = await (request.dry_run ? planned() : put(row, deps));
  if (owner === undefined) return { is: await becomes(row, plan, deps) };
  return owner === request.tenant ? { is: 'known' } : { is: 'set_aside', log_id, faults: [TAKEN] };
}

/** Puts a row that is not there yet, as any other writer does. @returns the tenant of the row that has its id */
async function put(row: ForeignRow, deps: ImportDeps): Promise<string | undefined> {
  const table = deps.deployment.tables.notification_log;
  const { applied } = await putGuarded(deps.dynamodb, table, toItem(row), [NEW]);
  return applied ? undefined : ((await ownerOf(String(row['log_id']), deps)) ?? '');
}

async function ownerOf(log_id: string, { dynamodb, deployment }: ImportDeps): Promise<string | undefined> {
  const item = await readItem(dynamodb, deployment.tables.notification_log, log_id, ['log_id', 'tenant_id']);
  return item && (item['tenant_id']?.S ?? '');
}

async function becomes(
  row: ForeignRow,
  plan: IndexPlan,
  { deployment, clock }: ImportDeps,
): Promise<keyof ImportCounts> {
  if (plan.do === 'history') return 'kept';
  if (plan.do !== 'index') return row['is_deleted'] === true ? 'kept' : 'sent';
  const taken = asNotification({ ...row, ...plan.set });
  const due = { ...taken, work_at: String(taken.work_at) } as DueItem;
  const foresee = foresight({ rows: { read: async () => taken }, clock, policy: deployment.retry_policy });
  const { would } = await foresee(messageFor(due, due.work_at, 'import'));
  return would === 'give_up' ? 'given_up' : 'sent';
}
