import { changeUntil, isLeased, LEASE } from '../../model/changes.ts';
import { Problem } from '../../model/problem.ts';
import { type Clock, HOUR_MS } from '../../model/time.ts';
import {
  applyRequestedStop,
  failed,
  isActive,
  NOTHING,
  type Operation,
  type OperationChange,
  type OperationStore,
  sourcesOf,
} from './operation.ts';

export interface OperateDeps {
  readonly operations: OperationStore;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly startRun: (operation_id: string) => Promise<void>;
}

export type NewOperation = Pick<
  Operation,
  | 'kind'
  | 'filter'
  | 'asked'
  | 'rate'
  | 'include_stopped'
  | 'reads_stopped'
  | 'created_by'
  | 'limit'
  | 'max_age_ms'
  | 'integration_config_id'
> & {
  /** Of the operation; a new one unless given. */
  readonly operation_id?: string;
};

export type OperationAct = 'start' | 'pause' | 'resume' | 'cancel';

/** Counts what matches now: nothing newer is ever taken. @throws Problem when another one has the id */
export async function createOperation(request: NewOperation, deps: OperateDeps): Promise<Operation> {
  const operation = await deps.operations.create(operationOf(request, deps));
  checkIsSame(operation, request);
  await begin(operation, deps);
  return operation;
}

export function operationOf(request: NewOperation, deps: Pick<OperateDeps, 'clock' | 'newId'>): Operation {
  const now = deps.clock().toISOString();
  const [source = 'dead'] = sourcesOf(request);
  return {
    ...request,
    operation_id: request.operation_id ?? newOperationId(deps),
    version: 0,
    status: 'previewing',
    cut_off: now,
    created_at: now,
    checkpoint: { source },
    sample: [],
    progress: NOTHING,
  };
}

/** An active operation that no process works on would stay so for ever: it is failed, and can be resumed. */
async function begin(operation: Operation, { operations, clock, startRun }: OperateDeps): Promise<void> {
  try {
    await startRun(operation.operation_id);
  } catch (error) {
    const why = 'No process could be started for it. Nothing is lost: resume it.';
    if (!isLeased(operation, clock())) await operations.change(operation, failed(why));
    throw error;
  }
}

/** `op-`, the time in base 36 and six characters: 17 in all, because every row that is taken stores it. */
export function newOperationId({ clock, newId }: Pick<OperateDeps, 'clock' | 'newId'>): string {
  return `op-${clock().getTime().toString(36).padStart(8, '0')}${newId().replaceAll('-', '').slice(0, 6)}`;
}

/** What an operator may ask of an operation in its state. */
export function possibleActs({ status, wanted }: Operation): readonly OperationAct[] {
  // Also a cancel again: the process that was to carry it out may have crashed.
  if (wanted !== undefined) return ['cancel'];
  switch (status) {
    case 'ready':
      return ['start', 'cancel'];
    case 'running':
      return ['pause', 'cancel'];
    case 'paused':
    case 'failed':
      return ['resume', 'cancel'];
    case 'previewing':
      return ['cancel'];
    default:
      return [];
  }
}

/** @throws Problem when there is no such operation, or its state does not allow this */
export async function operate(operation_id: string, act: OperationAct, deps: OperateDeps): Promise<Operation> {
  const { operations, clock } = deps;
  const acted = (operation: Operation) => {
    if (!possibleActs(operation).includes(act)) throw notNow(operation, act);
    return changeFor(operation, act, clock());
  };
  const { changed } = await changeUntil(() => operations.read(operation_id), acted, operations.change);
  if (changed === undefined) throw new Problem('not-found', 'There is no operation with this id.');
  if (isActive(changed)) await begin(changed, deps);
  return changed;
}

function notNow({ status, wanted }: Operation, act: OperationAct): Problem {
  const state = wanted === undefined ? status : `about to ${wanted}`;
  return new Problem('conflict', `The operation is ${state}: it cannot ${act} now.`);
}

function changeFor(operation: Operation, act: OperationAct, now: Date): OperationChange {
  switch (act) {
    case 'start':
      return { set: { status: 'running', started_at: now.toISOString() } };
    case 'resume':
      // A preview that failed goes on as a preview.
      return {
        set: { status: operation.started_at === undefined ? 'previewing' : 'running' },
        remove: ['error', 'ended_at', ...LEASE],
      };
    default: {
      const wanted = { ...operation, wanted: act } as const;
      if (isActive(operation) && isLeased(operation, now)) return { set: { wanted: act } };
      if (act === 'pause' || operation.page === undefined) return applyRequestedStop(wanted, now);
      // What its process took of the page before it crashed, or failed, is counted before the end.
      return { set: { status: 'running', wanted: act }, remove: ['error', 'ended_at', ...LEASE] };
    }
  }
}

/** What an operation takes. It never changes, so whoever goes on with an operation by its id must mean the same. */
export type Bounds = Pick<
  Operation,
  'kind' | 'filter' | 'limit' | 'max_age_ms' | 'integration_config_id' | 'include_stopped'
>;

/** Its bounds by their stored names, those that are not set left out: to compare, to show and to audit. */
function boundsOf({ kind, filter, limit, max_age_ms, include_stopped, ...to }: Bounds): Record<string, string> {
  const { created, ...conditions } = filter;
  const period = { created_from: created?.from, created_to: created?.to };
  const corrected = { corrected_integration: to.integration_config_id };
  const all = { kind, ...conditions, ...period, limit, max_age_ms, ...corrected, include_stopped };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]];
    }),
  );
}

/** What an operation is bound to, for the audit: a recipient only by its hash. */
export function auditDetails(operation: Bounds & Pick<Operation, 'asked' | 'rate'>): object {
  const { kind, asked, rate, limit, max_age_ms, include_stopped, integration_config_id: corrected } = operation;
  const age = max_age_ms !== undefined && { max_age_hours: max_age_ms / HOUR_MS };
  return {
    kind,
    ...asked,
    rate,
    ...(limit !== undefined && { limit }),
    ...age,
    ...(corrected && { corrected }),
    include_stopped,
  };
}

export function differences(a: Bounds, b: Bounds): string[] {
  const [one, other] = [boundsOf(a), boundsOf(b)];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]);
}

/** `op-x is a cancel of tenant_id T, channel slack`. */
export function inWords(operation: Bounds & Pick<Operation, 'operation_id'>): string {
  const { kind, include_stopped, ...bounds } = boundsOf(operation);
  const stopped = include_stopped === 'true' ? ['include_stopped true'] : [];
  const conditions = [...Object.entries(bounds).map(([name, value]) => `${name} ${value}`), ...stopped];
  return `${operation.operation_id} is a ${kind} of ${conditions.join(', ') || 'everything'}`;
}

/** @throws Problem when the operation that has the id is another one than was asked for */
function checkIsSame(operation: Operation, asked: Bounds): void {
  const names = differences(operation, asked);
  if (names.length === 0) return;
  throw new Problem(
    'conflict',
    `${inWords(operation)}. It differs from what was asked for in ${names.join(', ')}: choose another id.`,
  );
}
