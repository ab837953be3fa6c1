import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Policy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { ReconcilerEnv } from '../../../functions/shared/runtime/env.ts';
import { allow } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { type DueIndexerProps, takingIn } from './due-indexer.ts';

/**
 * Walks NotificationLog slowly, and takes in the rows that the due-indexer missed
 * (docs/decisions/delivery/taking-rows-in.md#0080).
 */
export class Reconciler extends Construct {
  readonly function: ServiceFunction;

  constructor(scope: Construct, id: string, { config, tables, encryption }: DueIndexerProps) {
    super(scope, id);
    this.function = new ServiceFunction(this, 'Reconciler', {
      config,
      name: 'reconciler',
      description: 'Takes in the notifications that the due-indexer missed',
      timeout: Duration.minutes(15),
      allowRecursion: true,
      environment: {
        ...takingIn({ config, tables, encryption }).environment,
        READ_UNITS_PER_SECOND: String(config.reconcileReadUnits),
      } satisfies ReconcilerEnv,
      permissions: [
        allow(['dynamodb:Scan', 'dynamodb:GetItem', 'dynamodb:UpdateItem'], [tables.log.tableArn]),
        allow(['dynamodb:GetItem', 'dynamodb:PutItem'], [tables.content.tableArn, tables.pipelineState.tableArn]),
        ...takingIn({ config, tables, encryption }).permissions,
      ],
    });
    // In a separate policy, as for the dispatcher (sweep.ts).
    new Policy(this, 'Continuation', {
      statements: [allow(['lambda:InvokeFunction'], [this.function.functionArn])],
      roles: [this.function.executionRole],
    });
    if (config.reconcileSchedule === 'off') return;
    new Rule(this, 'Schedule', {
      description: `notification-retry ${config.stage}: look for rows that were never taken in`,
      schedule: Schedule.expression(config.reconcileSchedule),
      targets: [new LambdaFunction(this.function, { retryAttempts: 2, maxEventAge: Duration.hours(1) })],
    });
  }
}
