import { epochMs } from '../../../core/model/time.ts';
import type { NewOperation } from '../../../core/operator/operations/operate.ts';
import type { Operation, OperationStore } from '../../../core/operator/operations/operation.ts';
import { OperatorError } from '../../../terminal/errors.ts';

/** An unfinished replay is continued by the same command for this long. After that the command starts a new one. */
const CONTINUABLE_MS = 24 * 3_600_000;
/** The newest operations, among which that of the same command is looked for. */
const LOOKED_AT = 50;

/**
 * The unfinished operation of the same command, or the one with this id. An id of which nothing is stored begins an
 * operation under it, which leaves what stored that id before: replays were files of a machine once.
 */
export async function unfinishedReplay(
  id: string | undefined,
  request: NewOperation,
  operations: OperationStore,
  now: Date,
): Promise<Operation | undefined> {
  const found =
    id === undefined
      ? (await operations.list({ limit: LOOKED_AT })).find((one) => isSame(one, request, now))
      : await operations.read(id);
  if (found === undefined) return undefined;
  if (isOver(found))
    throw new OperatorError(`${id} is ${found.status}: omit --id, and a new replay takes what is left.`);
  const { rate, limit } = request;
  const set = { rate, ...(limit !== undefined && { limit }) };
  // Whoever works on it changed it meanwhile: it keeps its rate and limit.
  return (await operations.change(found, { set })) ?? found;
}

function isSame(operation: Operation, { scope }: NewOperation, now: Date): boolean {
  const isRecent = epochMs(operation.created_at) >= now.getTime() - CONTINUABLE_MS;
  return scope !== undefined && operation.scope === scope && !isOver(operation) && isRecent;
}

function isOver({ status }: Operation): boolean {
  return status === 'done' || status === 'cancelled';
}
