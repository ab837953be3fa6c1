import { Duration, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, useKeyOf } from '../function/permissions.ts';
import { deadLetterQueue, workQueue } from '../lanes/queues.ts';

/** Lambda's longest: what is not done by then goes on in the next invocation. */
export const JOB_TIMEOUT = Duration.minutes(15);
/** A message is not received again while its function may run. The clock has the work of a dead one done sooner. */
const VISIBILITY_TIMEOUT = Duration.minutes(16);
const MAX_RECEIVE_COUNT = 5;

/** The queues of the job of newsletters, and the schedules that start emails later. */
export class NewsletterQueues extends Construct {
  /** Messages that start or count an email. */
  readonly prepare: Queue;
  /** Messages that send a batch, or record an outcome late. */
  readonly send: Queue;
  readonly failures: Queue;
  readonly scheduleGroupName: string;
  /** EventBridge Scheduler takes this role to start an email. */
  readonly scheduleRole: Role;

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    const { stage } = config;
    const name = (queue: string) => `notification-retry-${stage}-newsletter-${queue}`;
    this.failures = deadLetterQueue(this, 'Failures', name('dead-letter'), [name('prepare'), name('send')]);
    const queue = (queueId: string, queueName: string) =>
      workQueue(this, queueId, {
        queueName,
        deadLetters: this.failures,
        maxReceiveCount: MAX_RECEIVE_COUNT,
        visibilityTimeout: VISIBILITY_TIMEOUT,
      });
    this.prepare = queue('Prepare', name('prepare'));
    this.send = queue('Send', name('send'));
    this.scheduleGroupName = `notification-retry-${stage}`;
    new CfnScheduleGroup(this, 'Schedules', { name: this.scheduleGroupName });
    this.scheduleRole = new Role(this, 'ScheduleRole', {
      description: `notification-retry ${stage}: starts scheduled emails`,
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    });
    const rights = [allow(['sqs:SendMessage'], [this.prepare.queueArn]), ...useKeyOf('sqs', this, config)];
    for (const right of rights) this.scheduleRole.addToPrincipalPolicy(right);
  }

  get scheduleArns(): string {
    return Stack.of(this).formatArn({
      service: 'scheduler',
      resource: 'schedule',
      resourceName: `${this.scheduleGroupName}/*`,
    });
  }
}
