import type { MetricName } from '../../src/core/metrics.ts';

/** Metrics of the catalogue whose emitters are still being built; to be emptied, and then deleted, with them. */
export const NOT_YET_EMITTED: readonly MetricName[] = ['Accepted', 'IdempotentRequests', 'IdempotentRepeats'];
