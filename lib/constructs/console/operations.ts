import { Duration, Stack } from 'aws-cdk-lib';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { ConsoleOperationsEnv } from '../../../functions/shared/runtime/console-env.ts';
import { HISTORY_INDEX, OPERATION_KIND, WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import { allow, readShards, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { deadLetterQueue, QUEUE_DEFAULTS } from '../lanes/dead-letters.ts';
import { laneArns, laneUrls } from '../lanes/lane-queues.ts';
import type { ConsoleProps } from './console-props.ts';
import { useOperations } from './operation-rights.ts';

const TIMEOUT = Duration.minutes(10);
/** Bulk operations at once; each has a rate of its own. */
const CONCURRENCY = 2;

/** Works on bulk operations: one message each, continued by messages of its own. */
export class ConsoleOperations extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, { config, tables, encryption, channels }: ConsoleProps) {
    super(scope, id);
    const name = `notification-retry-${config.stage}-console-operations`;
    const failures = deadLetterQueue(this, 'Failures', `${name}-dead-letter`, [name]);
    this.queue = new Queue(this, 'Queue', {
      ...QUEUE_DEFAULTS,
      queueName: name,
      retentionPeriod: Duration.days(4),
      visibilityTimeout: Duration.minutes(60),
      deadLetterQueue: { queue: failures, maxReceiveCount: 5 },
    });
    const worker = new ServiceFunction(this, 'Worker', {
      config,
      name: 'console-operations',
      description: 'Retries, redrives and cancels notifications by filter, as operators ask in the console',
      timeout: TIMEOUT,
      allowRecursion: true,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        RETRY_POLICY: retryPolicyJson(config),
        OPERATIONS_QUEUE: this.queue.queueUrl,
      } satisfies ConsoleOperationsEnv,
      permissions: [
        allow(['dynamodb:BatchGetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'], [tables.log.tableArn]),
        allow(
          ['dynamodb:Query'],
          [WORK_INDEX, HISTORY_INDEX].map((index) => `${tables.log.tableArn}/index/${index}`),
        ),
        useOperations(tables.pipelineState, [OPERATION_KIND]),
        readShards(tables.pipelineState),
        useTableKey(encryption.dataKey),
        allow(['sqs:SendMessage'], [...laneArns(channels), this.queue.queueArn]),
      ],
    });
    worker.addEventSource(new SqsEventSource(this.queue, { batchSize: 1, maxConcurrency: CONCURRENCY }));
  }
}
