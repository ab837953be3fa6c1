import * as v from 'valibot';
import { Problem } from '../../core/model/problem.ts';
import { auditDetails } from '../../core/operator/operations/bounds.ts';
import {
  createOperation,
  type NewOperation,
  newOperationId,
  operate,
  possibleActs,
} from '../../core/operator/operations/operate.ts';
import { NOTHING, type Operation } from '../../core/operator/operations/operation.ts';
import { viewOf } from '../../core/operator/views/notification-view.ts';
import { decide } from '../audited.ts';
import {
  createOperationBody,
  OPERATION_ACTIONS,
  type OperationFilter,
  type OperationView,
  operationActionBody,
  operationsQuery,
} from '../contract/operations.ts';
import type { RouteKey } from '../contract/routes.ts';
import { shellCommand } from '../contract/shell-command.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import type { ConsoleDeps } from '../deps.ts';
import { searchFilter } from '../filters.ts';
import { type RouteTable, route } from '../route.ts';

const place = v.strictObject({ before: v.pipe(v.string(), v.minLength(1), v.maxLength(100)) });
const HOUR_MS = 3_600_000;

export interface OperationRouteDeps extends ConsoleDeps {
  readonly kick: (operation_id: string) => Promise<void>;
}

/** Bulk operations: made as a preview, started, paused, resumed, cancelled. */
export function operationRoutes(deps: OperationRouteDeps): RouteTable {
  const acts = OPERATION_ACTIONS.map((act) => {
    const key = `POST /api/operations/{operation_id}/${act}` as const;
    const handler = route(key, operationActionBody, async (request) => {
      const operation_id = request.path['operation_id'] ?? '';
      const operation = await readOperation(operation_id, deps);
      const decision = {
        what: `operation.${act}`,
        on: [operation_id],
        ...(operation !== undefined && { details: auditDetails(operation) }),
      };
      await decide(key, request, decision, deps, async () => {
        await operate(operation_id, act, deps);
        return { answer: {}, result: { accepted: 1 } };
      });
      return show(operation_id, deps);
    });
    return [key satisfies RouteKey, handler] as const;
  });
  return {
    'GET /api/operations': route('GET /api/operations', operationsQuery, async ({ input }) => {
      const { limit } = input;
      const after = fromCursor(place, input.cursor);
      const found = await deps.operations.list({ limit, ...after });
      const last = found.length === limit ? found.at(-1) : undefined;
      return {
        operations: found.map((operation) => viewOfOperation(operation, [], deps)),
        next_cursor: toCursor(last && { before: last.operation_id }),
      };
    }),
    'GET /api/operations/{operation_id}': route('GET /api/operations/{operation_id}', v.strictObject({}), ({ path }) =>
      show(path['operation_id'] ?? '', deps),
    ),
    'POST /api/operations': route('POST /api/operations', createOperationBody, async (request) => {
      const { kind, filter, rate, limit, max_age_hours, include_stopped } = request.input;
      const operation_id = newOperationId(deps);
      const operation: NewOperation = {
        operation_id,
        kind,
        filter: searchFilter(filter),
        asked: Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)])),
        rate,
        include_stopped,
        created_by: request.caller.who,
        ...(limit !== undefined && { limit }),
        ...(max_age_hours !== undefined && { max_age_ms: max_age_hours * HOUR_MS }),
      };
      const decision = { what: 'operation.create', on: [operation_id], details: auditDetails(operation) };
      const { answer } = await decide('POST /api/operations', request, decision, deps, async () => {
        await createOperation(operation, deps);
        return { answer: { operation_id }, result: { created: 1 } };
      });
      return show(answer.operation_id, deps);
    }),
    ...Object.fromEntries(acts),
  };
}

async function readOperation(operation_id: string, { operations }: ConsoleDeps): Promise<Operation | undefined> {
  return /^[\w.-]{1,50}$/.test(operation_id) ? operations.read(operation_id) : undefined;
}

/** @throws Problem not-found */
async function show(operation_id: string, deps: ConsoleDeps): Promise<OperationView> {
  const operation = await readOperation(operation_id, deps);
  if (operation === undefined) throw new Problem('not-found', 'There is no operation with this id.');
  const rows = await Promise.all(operation.sample.map((log_id) => deps.rows.read(log_id)));
  const now = deps.clock();
  const sample = rows.flatMap((row) => (row === undefined ? [] : [viewOf({ ...row }, now)]));
  return viewOfOperation(operation, sample, deps);
}

function viewOfOperation(
  operation: Operation,
  sample: OperationView['sample'],
  { local, clock }: ConsoleDeps,
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
    sample_log_ids: operation.sample,
    progress: status === 'previewing' ? (preview ?? NOTHING) : progress,
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
