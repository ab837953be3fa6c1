import type { NewOperation } from '../../../core/operator/operations/operate.ts';
import { ALWAYS } from '../../../core/operator/search-filter.ts';
import { searchFilter } from '../../../operator-service/notifications.ts';
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
