import * as v from 'valibot';
import { decideOnce } from '../audit.ts';
import {
  createOperationBody,
  OPERATION_ACTIONS,
  operationActionBody,
  operationsQuery,
} from '../contract/operations.ts';
import { fromCursor, placeOf, toCursor } from '../cursor.ts';
import { decideOperation, listOperations, newOperation, type OperationDeps, showOperation } from '../operations.ts';
import { type RouteTable, route } from '../route.ts';

const place = placeOf(v.strictObject({ before: v.pipe(v.string(), v.minLength(1), v.maxLength(100)) }));

/** Bulk operations: made as a preview, started, paused, resumed, cancelled. */
export function operationRoutes(deps: OperationDeps): RouteTable {
  const acts = OPERATION_ACTIONS.map((act) => {
    const key = `POST /api/operations/{operation_id}/${act}` as const;
    const handler = route(key, operationActionBody, async (request) => {
      const { operation_id = '' } = request.path;
      await decideOperation(operation_id, act, deps, decideOnce(key, request, deps));
      return showOperation(operation_id, deps);
    });
    return [key, handler] as const;
  });
  return {
    'GET /api/operations': route('GET /api/operations', operationsQuery, async ({ input: { limit, cursor } }) => {
      const { operations, next } = await listOperations({ limit, ...fromCursor(place, cursor) }, deps);
      return { operations, next_cursor: toCursor(next) };
    }),
    'GET /api/operations/{operation_id}': route('GET /api/operations/{operation_id}', v.strictObject({}), ({ path }) =>
      showOperation(path['operation_id'] ?? '', deps),
    ),
    'POST /api/operations': route('POST /api/operations', createOperationBody, async (request) => {
      const asked = { ...request.input, created_by: request.caller.who };
      return showOperation(await newOperation(asked, deps, decideOnce('POST /api/operations', request, deps)), deps);
    }),
    ...Object.fromEntries(acts),
  };
}
