import { epochMs } from '../../../core/model/time.ts';
import { differences, inWords } from '../../../core/operator/operations/bounds.ts';
import type { NewOperation } from '../../../core/operator/operations/operate.ts';
import type { Operation, OperationStore } from '../../../core/operator/operations/operation.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import type { Session } from '../../session/session.ts';
import type { ReplayOptions } from './replay-request.ts';

/** An unfinished replay is continued by the same command for this long. After that the command starts a new one. */
const CONTINUABLE_MS = 24 * 3_600_000;
const PAGE = 50;
const ALL = { kind: 'redrive', filter: {}, include_stopped: false } as const;

/**
 * The unfinished operation of the same command, or the one with this id. An id of which nothing is stored begins an
 * operation under it, which leaves what stored that id before: replays were files of a machine once.
 * @throws OperatorError when the id stands for another operation than the options describe
 */
export async function unfinishedReplay(
  { id, rate }: Pick<ReplayOptions, 'id' | 'rate'>,
  request: NewOperation,
  operations: OperationStore,
  session: Pick<Session, 'clock' | 'terminal'>,
): Promise<Operation | undefined> {
  const found = id === undefined ? await sameReplay(request, operations, session) : await operations.read(id);
  if (found === undefined) return undefined;
  if (id !== undefined) checkIsMeant(found, request);
  if (rate === undefined) return found;
  // Whoever works on it changed it meanwhile: it keeps its rate.
  return (await operations.change(found, { set: { rate } })) ?? found;
}

function checkIsMeant(found: Operation, request: NewOperation): void {
  const { operation_id, status } = found;
  if (found.kind !== 'redrive') {
    throw new OperatorError(
      `${inWords(found)}: a replay continues redrives only. The console continues this one; omit --id for a replay.`,
    );
  }
  const isByIdAlone = differences(request, ALL).length === 0;
  const names = isByIdAlone ? [] : differences(found, request);
  if (names.length > 0) {
    throw new OperatorError(
      `${inWords(found)}, and these options say something else (${names.join(', ')}): ` +
        'give --id alone to continue it as it is, or omit --id to begin a replay of what the options say.',
    );
  }
  if (isOver(found)) {
    throw new OperatorError(`${operation_id} is ${status}: omit --id, and a new replay takes what is left.`);
  }
}

/** The newest unfinished replay with the same bounds. One of the console does not count the stopped ones. */
async function sameReplay(
  request: NewOperation,
  operations: OperationStore,
  { clock, terminal }: Pick<Session, 'clock' | 'terminal'>,
): Promise<Operation | undefined> {
  const oldest = clock().getTime() - CONTINUABLE_MS;
  let other: string | undefined;
  let before: string | undefined;
  for (;;) {
    const page = await operations.list({ limit: PAGE, ...(before !== undefined && { before }) });
    const recent = page.filter(({ created_at }) => epochMs(created_at) >= oldest);
    for (const one of recent) {
      if (one.reads_stopped !== true || isOver(one)) continue;
      const names = differences(one, request);
      if (names.length === 0) return one;
      if (names.every((name) => name.startsWith('created_'))) other ??= one.operation_id;
    }
    before = page.at(-1)?.operation_id;
    if (recent.length > 0 && page.length === PAGE) continue;
    if (other !== undefined)
      terminal.say(`${other} did not finish, and has another period: --id ${other} continues it.\n`);
    return undefined;
  }
}

function isOver({ status }: Operation): boolean {
  return status === 'done' || status === 'cancelled';
}
