import { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Policy, type PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from './nag-acknowledgements.ts';
import { allow } from './permissions.ts';
import type { ServiceFunction } from './service-function.ts';

interface ScheduledRun {
  readonly config: Pick<StageConfig, 'stage'>;
  /** What the function does then. */
  readonly what: string;
  readonly schedule: string;
  readonly retryAttempts: number;
  /** How late a run may begin; of several schedules of a function, the first one says it to Lambda. */
  readonly within: Duration;
  /** In place of EventBridge's own event. */
  readonly event?: object;
}

export function runOnSchedule(
  scope: Construct,
  id: string,
  handler: ServiceFunction,
  { config, what, schedule, retryAttempts, within: maxEventAge, event }: ScheduledRun,
): Rule {
  const input = event && { event: RuleTargetInput.fromObject(event) };
  // EventBridge's part ends as soon as Lambda has the event. Lambda keeps what it may not run yet for six hours unless
  // told otherwise: after a lack of concurrency all runs of that time would come at once. The age counts on during a run:
  // what is to be repeated must outlast one that fails at its end, where a sweep is continued, and the minute after it.
  if (handler.node.tryFindChild('EventInvokeConfig') === undefined) {
    const run = (handler.timeout ?? Duration.minutes(15)).plus(Duration.minutes(1));
    const kept = retryAttempts > 0 ? maxEventAge.plus(run) : maxEventAge;
    handler.configureAsyncInvoke({ maxEventAge: kept, retryAttempts: Math.min(retryAttempts, 2) });
  }
  return new Rule(scope, id, {
    description: `notification-retry ${config.stage}: ${what}`,
    schedule: Schedule.expression(schedule),
    targets: [new LambdaFunction(handler, { retryAttempts, maxEventAge, ...input })],
  });
}

/**
 * Lets a function that runs out of time invoke itself with a cursor. The right is in a separate policy, because the
 * function waits for its role's default policy, and CloudFormation refuses cycles.
 */
export function continueItself(scope: Construct, { functionArn, executionRole }: ServiceFunction): void {
  new Policy(scope, 'Continuation', {
    statements: [allow(['lambda:InvokeFunction'], [functionArn])],
    roles: [executionRole],
  });
}

function streamOf({ tableStreamArn, node }: Table): string {
  if (tableStreamArn === undefined) throw new Error(`${node.path} has no stream: its schema must have one`);
  return tableStreamArn;
}

/** The right to read the streams of these tables, beside `listStreams`. */
export function readStreamsOf(...tables: readonly Table[]): PolicyStatement {
  return allow(['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'], tables.map(streamOf));
}

export function listStreams(): WildcardPermission {
  return {
    statement: allow(['dynamodb:ListStreams'], ['*']),
    resource: '*',
    reason: "Lambda's stream poller asks for dynamodb:ListStreams, which knows no resources.",
  };
}

/** Tables by the id of their mapping, each with the filters of what the reader gets of its stream. */
export type StreamSources = Readonly<Record<string, readonly [Table, readonly Filter[]]>>;
type Filter = ReturnType<typeof FilterCriteria.filter>;

/**
 * Runs a function on what tables' streams show, also of the day before the function was there.
 * @param parallelizationFactor order matters only within an item, and DynamoDB keeps that order
 */
export function readStreams(
  reader: ServiceFunction,
  sources: StreamSources,
  parallelizationFactor: number,
  failures: Queue,
): void {
  for (const [id, [table, filters]] of Object.entries(sources)) {
    reader.addEventSourceMapping(id, {
      eventSourceArn: streamOf(table),
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: [...filters],
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(1),
      parallelizationFactor,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      // DynamoDB drops a change after 24 hours. An hour before that, Lambda stops retrying and puts the change's position
      // into the failure queue.
      maxRecordAge: Duration.hours(23),
      onFailure: new SqsDlq(failures),
    });
  }
}
