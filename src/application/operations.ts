import type * as v from 'valibot';
import { CHANNELS } from '../core/model/channels.ts';
import { INTAKE_API, type NotificationRow } from '../core/model/notification.ts';
import { Problem } from '../core/model/problem.ts';
import { stateOf } from '../core/model/row-state.ts';
import { epochMs, HOUR_MS } from '../core/model/time.ts';
import { type Decision, decisionOf } from '../core/operator/audit.ts';
import {
  auditDetails,
  createOperation,
  type NewOperation,
  newOperationId,
  type OperateDeps,
  type OperationAct,
  operate,
  possibleActs,
} from '../core/operator/operations/operate.ts';
import { isOver, NOTHING, type Operation } from '../core/operator/operations/operation.ts';
import { viewOf } from '../core/operator/views/notification-view.ts';
import { invalid } from '../http/check.ts';
import { requireIntegration } from './chosen/correct.ts';
import { CONDITIONS, shellCommand } from './contract/choices.ts';
import type { createOperationBody, OperationFilter, OperationView } from './contract/operations.ts';
import type { OperatorDeps } from './deps.ts';
import { searchFilter } from './notifications.ts';

/** Bulk operations: made as a preview, started, paused, resumed, cancelled. */
export interface OperationDeps extends OperatorDeps {
  /** Makes a process run an operation: this one, or a function that a message starts. */
  readonly startRun: (operation_id: string) => Promise<void>;
}

type ShowDeps = Pick<OperatorDeps, 'operations' | 'rows' | 'local' | 'clock'>;

export function newOperation(
  asked: v.InferOutput<typeof createOperationBody> & { readonly created_by: string },
  deps: OperationDeps,
): Decision<MadeOperation> {
  const { kind, filter, rate, limit, max_age_hours, integration_config_id, include_stopped, created_by } = asked;
  const request = {
    kind,
    filter: searchFilter(filter),
    asked: inText(filter),
    rate,
    include_stopped,
    created_by,
    ...(limit !== undefined && { limit }),
    ...(max_age_hours !== undefined && { max_age_ms: max_age_hours * HOUR_MS }),
    ...(integration_config_id !== undefined && { integration_config_id }),
  };
  const { audit, run } = makeOperation(request, deps);
  // A repeated request gets its answer nevertheless.
  const checked = async () => {
    await checkCorrection(request, deps);
    return run();
  };
  return { audit, run: checked };
}

/** What a correction changes to must be the tenant's. @throws Problem */
async function checkCorrection(request: NewOperation, deps: OperationDeps) {
  const { kind, asked, integration_config_id, include_stopped } = request;
  const isCorrection = kind === 'correct';
  if (isCorrection && include_stopped) {
    throw invalid([
      { path: 'include_stopped', rule: 'correction', message: 'is not for corrections: they take dead ones' },
    ]);
  }
  if (isCorrection !== (integration_config_id !== undefined)) throw faulty('integration_config_id', isCorrection);
  if (integration_config_id === undefined) return;
  const { tenant: tenant_id } = asked;
  const channel = CHANNELS.find((one) => one === asked['channel']);
  if (tenant_id === undefined) throw faulty('filter.tenant', true);
  if (channel === undefined) throw faulty('filter.channel', true);
  await requireIntegration({ channel, tenant_id, created_by: INTAKE_API, integration_config_id }, deps);
}

function faulty(path: string, required: boolean): Problem {
  const message = required ? 'is required for a correction' : 'is for corrections only';
  return invalid([{ path, rule: 'correction', message }]);
}

/** The filter as it was requested, for display. */
export function inText(filter: OperationFilter): Operation['asked'] {
  return Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]));
}

interface MadeOperation {
  readonly operation_id: string;
}

/** Makes the operation of a request, and has it previewed. Its run throws a Problem when another one has its id. */
export function makeOperation(request: NewOperation, deps: OperateDeps): Decision<MadeOperation> {
  const operation_id = request.operation_id ?? newOperationId(deps);
  const operation = { ...request, operation_id };
  return decisionOf({ what: 'operation.create', on: [operation_id], details: auditDetails(operation) }, async () => {
    await createOperation(operation, deps);
    return { answer: { operation_id }, result: { created: 1 } };
  });
}

export async function decideOperation(
  operation_id: string,
  act: OperationAct,
  deps: OperationDeps,
): Promise<Decision<object>> {
  const operation = await readOperation(operation_id, deps);
  const details = operation !== undefined && { details: auditDetails(operation) };
  return decisionOf({ what: `operation.${act}`, on: [operation_id], ...details }, async () => {
    await operate(operation_id, act, deps);
    return { answer: {}, result: { accepted: 1 } };
  });
}

/** Milliseconds after which a preview that nobody has started is not listed any more. */
const PREVIEW_MS = HOUR_MS;

/** Whether the operation is such a preview: it has done nothing. */
function isAbandoned(operation: Operation, now: Date): boolean {
  if (operation.started_at !== undefined) return false;
  return isOver(operation) || epochMs(operation.created_at) < now.getTime() - PREVIEW_MS;
}

/** The newest first, without their samples, and without previews that nobody started. */
export async function listOperations(
  page: { readonly limit: number; readonly before?: string },
  deps: ShowDeps,
): Promise<{ readonly operations: OperationView[]; readonly next?: { readonly before: string } }> {
  const found = await deps.operations.list(page);
  const last = found.length === page.limit ? found.at(-1) : undefined;
  return {
    operations: found
      .filter((operation) => !isAbandoned(operation, deps.clock()))
      .map((operation) => viewOfOperation(operation, [], deps)),
    ...(last && { next: { before: last.operation_id } }),
  };
}

async function readOperation(operation_id: string, { operations }: ShowDeps): Promise<Operation | undefined> {
  return /^[\w.-]{1,50}$/.test(operation_id) ? operations.read(operation_id) : undefined;
}

/** @throws Problem not-found */
export async function showOperation(operation_id: string, deps: ShowDeps): Promise<OperationView> {
  const operation = await readOperation(operation_id, deps);
  if (operation === undefined) throw new Problem('not-found', 'There is no operation with this id.');
  const read = await Promise.all(operation.sample.map((log_id) => deps.rows.read(log_id)));
  const rows = read.filter((row) => row !== undefined);
  const now = deps.clock();
  const sample = rows.slice(0, SHOWN).map((row) => viewOf({ ...row }, now));
  return { ...viewOfOperation(operation, sample, deps), outcomes: outcomesOf(operation, rows, now) };
}

/** Notifications that the answer about an operation names at most. */
const SHOWN = 5;

/** The states of the notifications in the operation's sample. */
function outcomesOf(operation: Operation, rows: readonly NotificationRow[], now: Date): OperationView['outcomes'] {
  if (operation.started_at === undefined) return null;
  const taken = rows.filter(({ replay_id }) => replay_id === operation.operation_id);
  const by = Map.groupBy(taken, (row) => {
    const state = stateOf(row, now);
    if (state === 'delivered' || state === 'dead') return state;
    return state === 'stopped' || state === 'set_aside' ? 'stopped' : 'waiting';
  });
  const ids = (name: 'delivered' | 'dead' | 'waiting' | 'stopped') => by.get(name)?.map(({ log_id }) => log_id) ?? [];
  const [delivered, dead, waiting, stopped] = [ids('delivered'), ids('dead'), ids('waiting'), ids('stopped')];
  return { looked_at: taken.length, delivered, dead, waiting, stopped };
}

function viewOfOperation(
  operation: Operation,
  sample: OperationView['sample'],
  { local, clock }: ShowDeps,
): OperationView {
  const { preview, progress, rate_now, status, asked } = operation;
  const left = (preview?.taken ?? 0) - progress.taken;
  const isEstimated = status === 'running' && rate_now !== undefined && rate_now > 0 && left > 0;
  return {
    operation_id: operation.operation_id,
    kind: operation.kind,
    status,
    wanted: operation.wanted ?? null,
    // Checked when it was made.
    filter: asked as OperationFilter,
    rate: operation.rate,
    limit: operation.limit ?? null,
    integration_config_id: operation.integration_config_id ?? null,
    cut_off: operation.cut_off,
    created_by: operation.created_by,
    created_at: operation.created_at,
    started_at: operation.started_at ?? null,
    ended_at: operation.ended_at ?? null,
    preview: status === 'previewing' ? null : (preview ?? NOTHING),
    sample,
    sample_log_ids: operation.sample.slice(0, SHOWN),
    progress: status === 'previewing' ? (preview ?? NOTHING) : progress,
    outcomes: null,
    rate_now: rate_now ?? null,
    eta: isEstimated ? etaOf(clock(), left / rate_now) : null,
    error: operation.error ?? null,
    actions: possibleActs(operation),
    command: commandOf(operation, local),
  };
}

/** To the minute, so that a poll without news stays one. */
function etaOf(now: Date, seconds: number): string {
  return new Date(Math.ceil((now.getTime() + seconds * 1_000) / 60_000) * 60_000).toISOString();
}

/** The command for the same redrive. There is none for other kinds, or for a recipient, whose address is not stored. */
function commandOf(operation: Operation, local: boolean): string | null {
  const { kind, asked, rate, limit, max_age_ms, include_stopped } = operation;
  if (kind !== 'redrive' || asked['recipient_hash'] !== undefined) return null;
  // In a fixed order: that of a map in DynamoDB is undefined.
  const args = Object.keys(CONDITIONS).flatMap((name) => {
    const value = asked[name];
    return value === undefined ? [] : [`--${name.replaceAll('_', '-')}`, value];
  });
  if (max_age_ms !== undefined) args.push('--max-age', `${Math.ceil(max_age_ms / 1_000)}s`);
  if (include_stopped) args.push('--include-stopped');
  if (limit !== undefined) args.push('--limit', String(limit));
  return shellCommand('replay', local, [...args, '--rate', String(Math.max(1, Math.round(rate)))]);
}
