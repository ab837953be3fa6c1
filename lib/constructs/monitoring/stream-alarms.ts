import type { StageConfig } from '../../config/stage-config.ts';
import type { AlarmSpec, AlarmSubjects } from './alarm-spec.ts';
import { FIVE_MINUTES, HOUR, ServiceMetrics } from './service-metrics.ts';

/** The alarms of the functions that read the tables' streams: rows of others wait there, and outcomes. */
export function indexingAlarms(config: StageConfig, { indexer, failures }: AlarmSubjects['indexing']): AlarmSpec[] {
  const { alarms } = config;
  const metrics = new ServiceMetrics(config);
  return [
    {
      name: 'rows-not-taken-in',
      severity: 'critical',
      meaning: 'Rows that others wrote could not be taken in for a day',
      metric: failures.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: FIVE_MINUTES }),
      threshold: 0,
    },
    {
      name: 'indexer-lag',
      severity: 'critical',
      meaning: `Rows that others wrote wait more than ${alarms.indexerLagMinutes} minutes to be taken in`,
      // Lambda's age of the newest record that it has passed on, in milliseconds.
      metric: indexer.metric('IteratorAge', { statistic: 'Maximum', period: FIVE_MINUTES }),
      threshold: alarms.indexerLagMinutes * 60_000,
    },
    {
      name: 'indexer-failures',
      severity: 'warning',
      meaning: 'Storage has refused rows that others wrote for ten minutes',
      metric: metrics.single('RowsFailed', 'Sum', FIVE_MINUTES),
      threshold: alarms.indexerFailures,
      evaluationPeriods: 2,
    },
    {
      name: 'rows-missed',
      severity: 'critical',
      meaning: 'The reconciler found rows that the due-indexer never took in',
      metric: metrics.single('RowsMissed', 'Sum', HOUR),
      threshold: 0,
    },
  ];
}

export function outcomeAlarms(
  { alarms }: StageConfig,
  { teller, failures }: NonNullable<AlarmSubjects['outcomes']>,
): AlarmSpec[] {
  return [
    {
      name: 'outcomes-lag',
      severity: 'critical',
      meaning: `Outcomes wait more than ${alarms.outcomesLagMinutes} minutes to be told`,
      metric: teller.metric('IteratorAge', { statistic: 'Maximum', period: FIVE_MINUTES }),
      threshold: alarms.outcomesLagMinutes * 60_000,
    },
    {
      name: 'outcomes-not-told',
      severity: 'critical',
      meaning: 'Outcomes could not be told for a day',
      metric: failures.metricApproximateNumberOfMessagesVisible({ statistic: 'Maximum', period: FIVE_MINUTES }),
      threshold: 0,
    },
  ];
}
