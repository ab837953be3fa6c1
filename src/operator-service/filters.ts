import { ALWAYS, type Period, type SearchFilter } from '../core/operator/search-filter.ts';
import type { OperationFilter } from './contract/operations.ts';

const DAY_MS = 86_400_000;

/** A filter of the console as core understands it. */
export function searchFilter(filter: OperationFilter): SearchFilter {
  const { channel, priority, tenant, error_type, failure_reason, last_error, integration, recipient_hash, from, to } =
    filter;
  return {
    ...(channel && { channel }),
    ...(priority && { priority }),
    ...(tenant && { tenant_id: tenant }),
    ...(error_type && { error_type }),
    ...(failure_reason && { failure_reason }),
    ...(last_error && { last_error }),
    ...(integration && { integration_config_id: integration }),
    ...(recipient_hash && { recipient_hash }),
    ...((from || to) && { created: { from: from ?? ALWAYS.from, to: to ?? ALWAYS.to } }),
  };
}

/** The creation period that is searched: by default the last 24 hours. */
export function createdPeriod({ from, to }: Pick<OperationFilter, 'from' | 'to'>, now: Date): Period {
  const end = to ?? now.toISOString();
  return { from: from ?? new Date(Date.parse(end) - DAY_MS).toISOString(), to: end };
}
