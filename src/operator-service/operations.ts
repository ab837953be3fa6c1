import type * as v from 'valibot';
import type { NotificationRow } from '../core/model/notification.ts';
import { Problem } from '../core/model/problem.ts';
import { stateOf } from '../core/model/row-state.ts';
import { epochMs } from '../core/model/time.ts';
import {
  auditDetails,
  createOperation,
  differences,
  inWords,
  type NewOperation,
  newOperationId,
  type OperationAct,
  operate,
  possibleActs,
} from '../core/operator/operations/operate.ts';
import { isOver, NOTHING, type Operation } from '../core/operator/operations/operation.ts';
import { viewOf } from '../core/operator/views/notification-view.ts';
import type { Decide } from './audit.ts';
import { shellCommand } from './contract/choices.ts';
import type { createOperationBody, OperationFilter, OperationView } from './contract/operations.ts';
import type { OperatorDeps } from './deps.ts';
import { searchFilter } from './notifications.ts';

const HOUR_MS = 3_600_000;

/** Bulk operations: made as a preview, started, paused, resumed, cancelled. */
export interface OperationDeps extends OperatorDeps {
  /** Makes a process run an operation: this one, or a function that a message starts. */
  readonly startRun: (operation_id: string) => Promise<void>;
}

type ShowDeps = Pick<OperatorDeps, 'operations' | 'rows' | 'local' | 'clock'>;

/** @returns its id */
export async function newOperation(
  asked: v.InferOutput<typeof createOperationBody> & { readonly created_by: string },
  deps: OperationDeps,
  decide: Decide,
): Promise<string> {
  const { kind, filter, rate, limit, max_age_hours, include_stopped, created_by } = asked;
  const operation_id = newOperationId(deps);
  const operation: NewOperation = {
    operation_id,
    kind,
    filter: searchFilter(filter),
    asked: Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)])),
    rate,
    include_stopped,
    created_by,
    ...(limit !== undefined && { limit }),
    ...(max_age_hours !== undefined && { max_age_ms: max_age_hours * HOUR_MS }),
  };
  const decision = { what: 'operation.create', on: [operation_id], details: auditDetails(operation) };
  const { answer } = await decide(decision, async () => {
    await createOperation(operation, deps);
    return { answer: { operation_id }, result: { created: 1 } };
  });
  return answer.operation_id;
}

export async function decideOperation(
  operation_id: string,
  act: OperationAct,
  deps: OperationDeps,
  decide: Decide,
): Promise<void> {
  const operation = await readOperation(operation_id, deps);
  const details = operation !== undefined && { details: auditDetails(operation) };
  await decide({ what: `operation.${act}`, on: [operation_id], ...details }, async () => {
    await operate(operation_id, act, deps);
    return { answer: {}, result: { accepted: 1 } };
  });
}

/** The newest first, without their samples. */
export async function listOperations(
  page: { readonly limit: number; readonly before?: string },
  deps: ShowDeps,
): Promise<{ readonly operations: OperationView[]; readonly next?: { readonly before: string } }> {
  const found = await deps.operations.list(page);
  const last = found.length === page.limit ? found.at(-1) : undefined;
  return {
    operations: found.map((operation) => viewOfOperation(operation, [], deps)),
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

/** Notifications that are shown of an operation. */
const SHOWN = 5;

/** Where those stand that the operation took, as far as its sample names them. */
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

const FLAGS: Readonly<Record<string, string>> = {
  channel: '--channel',
  priority: '--priority',
  tenant: '--tenant',
  error_type: '--error-type',
  failure_reason: '--failure-reason',
  last_error: '--last-error',
  integration: '--integration',
  from: '--from',
  to: '--to',
};

/** The command that redrives the same. Other kinds have none; a recipient is asked for by an address, which nobody stores. */
function commandOf(operation: Operation, local: boolean): string | null {
  const { kind, asked, rate, limit, max_age_ms, include_stopped } = operation;
  if (kind !== 'redrive' || asked['recipient_hash'] !== undefined) return null;
  // In the order of the flags: DynamoDB keeps none.
  const args = Object.entries(FLAGS).flatMap(([name, flag]) => {
    const value = asked[name];
    return value === undefined ? [] : [flag, value];
  });
  if (max_age_ms !== undefined) args.push('--max-age', `${Math.ceil(max_age_ms / 1_000)}s`);
  if (include_stopped) args.push('--include-stopped');
  if (limit !== undefined) args.push('--limit', String(limit));
  return shellCommand('replay', local, [...args, '--rate', String(Math.max(1, Math.round(rate)))]);
}

/** An unfinished replay is continued by the same command for this long. After that the command starts a new one. */
const CONTINUABLE_MS = 24 * HOUR_MS;
const LOOKED_AT = 50;
const ALL = { kind: 'redrive', filter: {}, include_stopped: false } as const;

type ReplayDeps = Pick<OperatorDeps, 'operations' | 'clock'>;
/** What a command continues; or another replay that did not finish, which has another period. */
type Unfinished = { readonly operation?: Operation; readonly other?: string };

/**
 * The unfinished operation of the same command, or the one with this id. An id of which nothing is stored begins an
 * operation under it, which leaves what stored that id before: replays were files of a machine once.
 * @throws Problem when the id stands for another operation than the options describe
 */
export async function unfinishedReplay(
  id: string | undefined,
  request: NewOperation,
  deps: ReplayDeps,
): Promise<Unfinished> {
  if (id === undefined) return sameReplay(request, deps);
  const found = await deps.operations.read(id);
  if (found !== undefined) checkIsMeant(found, request);
  // Begun anew without any condition, it would send everything.
  else if (isByIdAlone(request)) throw new Problem('not-found', `There is no replay ${id}: the console lists them.`);
  return found === undefined ? {} : { operation: found };
}

const isByIdAlone = (request: NewOperation) => differences(request, ALL).length === 0;

function checkIsMeant(found: Operation, request: NewOperation): void {
  const is = inWords(found);
  const conflict = (why: string) => new Problem('conflict', why);
  if (found.kind !== 'redrive')
    throw conflict(`${is}: a replay continues redrives only. The console continues this one; omit --id for a replay.`);
  const names = isByIdAlone(request) ? [] : differences(found, request);
  if (names.length > 0)
    throw conflict(
      `${is}, and these options say something else (${names.join(', ')}): ` +
        'give --id alone to continue it as it is, or omit --id to begin a replay of what the options say.',
    );
  if (isOver(found))
    throw conflict(`${found.operation_id} is ${found.status}: omit --id, and a new replay takes what is left.`);
}

/**
 * The newest unfinished replay with the same bounds. One that was never started may be what another operator is asked.
 */
async function sameReplay(request: NewOperation, { operations, clock }: ReplayDeps): Promise<Unfinished> {
  const oldest = clock().getTime() - CONTINUABLE_MS;
  let [other, before]: (string | undefined)[] = [];
  for (;;) {
    const page = await operations.list({ limit: LOOKED_AT, ...(before !== undefined && { before }) });
    const recent = page.filter(({ created_at }) => epochMs(created_at) >= oldest);
    for (const one of recent) {
      if (one.reads_stopped !== true || one.started_at === undefined || isOver(one)) continue;
      const names = differences(one, request);
      if (names.length === 0) return { operation: one };
      if (names.every((name) => name.startsWith('created_'))) other ??= one.operation_id;
    }
    before = page.at(-1)?.operation_id;
    if (recent.length === 0 || page.length < LOOKED_AT) return other === undefined ? {} : { other };
  }
}
