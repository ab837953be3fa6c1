import type { Acceptance } from '../../../src/core/intake/accept.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import { Problem, type ProblemName } from '../../../src/core/model/problem.ts';
import { count, countBy } from '../runtime/metrics.ts';
import type { Observability } from '../runtime/observability.ts';

/** Counts valid requests with an idempotency key, before they are accepted or refused. */
export function countRequests(metrics: Observability['metrics'], requests: number): void {
  if (requests > 0) count(metrics, 'IdempotentRequests', requests);
}

/** Refusals of a request whose key an earlier one has. */
const REPEATS: readonly unknown[] = ['idempotency-key-reused', 'request-in-progress'] satisfies ProblemName[];

/** Counts what became of requests: repeats, refused ones too, and new notifications by channel. */
export function countOutcomes(
  metrics: Observability['metrics'],
  outcomes: readonly { readonly channel: Channel; readonly outcome: Acceptance | Problem }[],
): void {
  const isRepeat = ({ outcome }: (typeof outcomes)[number]) =>
    outcome instanceof Problem ? REPEATS.includes(outcome.problem) : outcome.repeat;
  const repeats = outcomes.filter(isRepeat).length;
  if (repeats > 0) count(metrics, 'IdempotentRepeats', repeats);
  const created = outcomes.filter((one) => !(one.outcome instanceof Problem) && !one.outcome.repeat);
  for (const [channel, same] of Map.groupBy(created, (one) => one.channel)) {
    countBy(metrics, 'Accepted', { channel }, same.length);
  }
}
