import type { AlarmProps } from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { ServiceFunction } from '../function/service-function.ts';
import type { Channels } from '../lanes/channel-lanes.ts';

/** `critical`: notifications do not go out, or a failure would stay unnoticed. `warning`: look at it today. */
type Severity = 'critical' | 'warning';

/** An alarm. It rings when the metric is above its threshold, unless `comparisonOperator` says otherwise. */
export interface AlarmSpec
  extends Pick<AlarmProps, 'metric' | 'threshold'>,
    Partial<Pick<AlarmProps, 'evaluationPeriods' | 'comparisonOperator' | 'treatMissingData'>> {
  /** Also the name of its section in docs/runbook.md. */
  readonly name: string;
  /** The channel or function that the alarm is about, if there are several. */
  readonly of?: string;
  readonly severity: Severity;
  readonly meaning: string;
}

/** The resources that alarms and the dashboard watch. */
export interface AlarmSubjects {
  readonly channels: Channels;
  readonly functions: readonly ServiceFunction[];
  /** The due-indexer, and the queue of rows that it gave up. */
  readonly indexing: { readonly indexer: ServiceFunction; readonly failures: Queue };
  /** The dead-letter queues of newsletters: of the job, and of SES's events. Absent in a stage without newsletters. */
  readonly newsletterFailures?: { readonly job: Queue; readonly events: Queue } | undefined;
  /** The function that tells outcomes, and the queue of what it gave up; absent in a stage without outcomes. */
  readonly outcomes?: { readonly teller: ServiceFunction; readonly failures: Queue } | undefined;
}
