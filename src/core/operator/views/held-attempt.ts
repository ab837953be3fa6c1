import { OUT_OF_TIME } from '../../delivery/ports.ts';
import type { RetryRecord } from '../../model/notification.ts';

const HELD_BY_BUDGET = /^\{"budget":"(\w+)"\}$/;
const OUT_OF_TIME_DETAILS = JSON.stringify(OUT_OF_TIME);
const HELD_BY_BREAKER = /^\{"breaker":"([^"]+)"\}$/;

/** What held an attempt back, in words; undefined: it was made. */
export function heldBy({ error_details = '' }: Pick<RetryRecord, 'error_details'>): string | undefined {
  if (error_details === OUT_OF_TIME_DETAILS) return 'not sent: the worker had no time left';
  const [, provider] = HELD_BY_BREAKER.exec(error_details) ?? [];
  if (provider !== undefined) return `held: ${provider} is down`;
  const [, budget] = HELD_BY_BUDGET.exec(error_details) ?? [];
  return budget === undefined ? undefined : `held: the budget of ${budget} is used up`;
}
