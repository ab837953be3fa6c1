import { epochMs } from '../../../core/model/time.ts';
import { differences, inWords, type NewOperation } from '../../../core/operator/operations/operate.ts';
import { isOver, type Operation, type OperationStore } from '../../../core/operator/operations/operation.ts';
import { ALWAYS } from '../../../core/operator/search-filter.ts';
import { searchFilter } from '../../../operator-service/notifications.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import { type FilterOptions, filterOf, periodOf } from '../../session/filter-options.ts';
import type { Session } from '../../session/session.ts';

export interface ReplayOptions extends FilterOptions {
  readonly maxAge?: number;
  readonly includeStopped?: boolean;
  readonly limit?: number;
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly id?: string;
  readonly yes?: boolean;
}

/** Notifications per second, which is what SQS moves at most. */
const DEFAULT_RATE = 500;

/** The operation that a replay is. */
export async function replayRequest(options: ReplayOptions, session: Session): Promise<NewOperation> {
  const { from, to, rate = DEFAULT_RATE, limit, maxAge, includeStopped = false } = options;
  const given = await filterOf(options, session);
  const filter = searchFilter(given);
  const dated = from !== undefined || to !== undefined;
  const period = periodOf(options, session.clock());
  // Without --to the cut-off is the end. It is left open here, so that the same command has the same period later.
  const created = to === undefined ? { from: period.from, to: ALWAYS.to } : period;
  const shown = { ...given, ...(from && { from }), ...(to && { to }) };
  return {
    kind: 'redrive',
    filter: dated ? { ...filter, created } : filter,
    asked: Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, String(value)])),
    rate,
    include_stopped: includeStopped,
    reads_stopped: true,
    created_by: '',
    ...(limit !== undefined && { limit }),
    ...(maxAge !== undefined && { max_age_ms: maxAge }),
  };
}

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
  { id }: Pick<ReplayOptions, 'id'>,
  request: NewOperation,
  operations: OperationStore,
  session: Pick<Session, 'clock' | 'terminal'>,
): Promise<Operation | undefined> {
  if (id === undefined) return sameReplay(request, operations, session);
  const found = await operations.read(id);
  if (found !== undefined) checkIsMeant(found, request);
  // Begun anew without any condition, it would send everything.
  else if (isByIdAlone(request)) throw new OperatorError(`There is no replay ${id}: the console lists them.`);
  return found;
}

function isByIdAlone(request: NewOperation): boolean {
  return differences(request, ALL).length === 0;
}

function checkIsMeant(found: Operation, request: NewOperation): void {
  const { operation_id, status } = found;
  if (found.kind !== 'redrive') {
    throw new OperatorError(
      `${inWords(found)}: a replay continues redrives only. The console continues this one; omit --id for a replay.`,
    );
  }
  const names = isByIdAlone(request) ? [] : differences(found, request);
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

/**
 * The newest unfinished replay with the same bounds. One of the console does not count the stopped ones, and one that was
 * never started may be what another operator is being asked about.
 */
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
      if (one.reads_stopped !== true || one.started_at === undefined || isOver(one)) continue;
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
