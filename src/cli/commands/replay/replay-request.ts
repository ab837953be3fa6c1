import { createHash } from 'node:crypto';
import type { NewOperation } from '../../../core/operator/operations/operate.ts';
import {
  type CauseOptions,
  causeFilterOf,
  type FilterOptions,
  filterOf,
  periodOf,
} from '../../session/filter-options.ts';
import type { Session } from '../../session/session.ts';

export interface ReplayOptions extends FilterOptions, CauseOptions {
  readonly maxAge?: number;
  readonly includeStopped?: boolean;
  readonly limit?: number;
  readonly rate: number;
  readonly dryRun?: boolean;
  readonly id?: string;
  readonly yes?: boolean;
}

/** The operation that a replay is. */
export async function replayRequest(
  options: ReplayOptions,
  session: Session,
): Promise<NewOperation & { readonly scope: string }> {
  const { from, to, rate, limit, maxAge, includeStopped = false } = options;
  const { tenant_id, integration_config_id, ...given } = {
    ...(await filterOf(options, session)),
    ...causeFilterOf(options),
  };
  const own = { ...(tenant_id && { tenant_id }), ...(integration_config_id && { integration_config_id }) };
  const filter = { ...given, ...own };
  const dated = from !== undefined || to !== undefined;
  const period = periodOf(options, session.clock());
  // In the words of the console's filter, which shows it.
  const shown = {
    ...given,
    ...(tenant_id && { tenant: tenant_id }),
    ...(integration_config_id && { integration: integration_config_id }),
    ...(from && { from }),
    ...(to && { to }),
  };
  return {
    kind: 'redrive',
    filter: dated ? { ...filter, created: period } : filter,
    asked: Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, String(value)])),
    rate,
    include_stopped: includeStopped,
    reads_stopped: true,
    created_by: '',
    // --from may be relative to now, so its moment differs each time. Rate and limit do not matter.
    scope: hashOf([filter, from !== undefined, to, maxAge, includeStopped]),
    ...(limit !== undefined && { limit }),
    ...(maxAge !== undefined && { max_age_ms: maxAge }),
  };
}

function hashOf(scope: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(scope)).digest('hex').slice(0, 16);
}
