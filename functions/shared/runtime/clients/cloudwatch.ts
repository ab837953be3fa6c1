import {
  createCloudWatchClient,
  createCloudWatchHistory,
} from '../../../../src/adapters/metric-history/cloudwatch-history.ts';
import type { MetricHistory } from '../../../../src/core/operator/views/outcome-series.ts';

/** In a module of its own, so that the client is loaded only when somebody opens the overview. */
export function openMetricHistory(namespace: string): MetricHistory {
  return createCloudWatchHistory(namespace, createCloudWatchClient(), () => new Date());
}
